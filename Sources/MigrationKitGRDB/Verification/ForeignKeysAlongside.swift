import Dispatch
import GRDB
import MigrationKit

/// Runs `foreign_key_check` on its own connection while another one runs `quick_check`. Each keeps
/// a processor busy, mostly with decrypting pages.
///
/// It only saves time. If it gets no result, because of a lock, a damaged page, or a function that
/// only the caller's connection has, the caller's connection runs the check itself.
final class ForeignKeysAlongside: @unchecked Sendable {
    // `@unchecked`: `outcome` is written before `end` is left, and read after that was waited for.
    private let end = DispatchGroup()
    private let stopping = Cancellation()
    private var outcome: VerificationOutcome?
    private let cancellation: Cancellation?

    /// Runs the check on the other connection.
    typealias Reading =
        @Sendable ((Database) throws -> VerificationOutcome) throws -> VerificationOutcome

    /// Starts the check.
    init(_ cancellation: Cancellation?, _ reading: @escaping Reading) {
        self.cancellation = cancellation
        // A separate thread: all threads of the global queues may be blocked, perhaps waiting for
        // this.
        DispatchQueue(label: "MigrationKit.foreignKeys").async(group: end) { [self] in
            outcome = try? reading { db in
                try db.withProgressHandler(every: 20_000, { self.continues }) {
                    try GRDBMigrationVerifier.foreignKeys(in: db)
                }
            }
        }
    }

    /// Starts the check on another connection, with the writer's configuration. Returns `nil` if
    /// the database is small or allows no second connection.
    convenience init?(in writer: any DatabaseWriter, _ cancellation: Cancellation?) {
        guard let path = try? writer.largeFile() else { return nil }
        self.init(cancellation) { body in
            guard writer is DatabaseQueue else { return try writer.read(body) }
            var configuration = writer.configuration.forReadingAlongside
            configuration.readonly = true
            return try DatabaseQueue(path: path, configuration: configuration).readAndClose(body)
        }
    }

    /// Waits for the outcome.
    ///
    /// - Parameter sign: Called again and again meanwhile.
    /// - Returns: `nil` if there is no outcome.
    func result(_ sign: () -> Void) throws -> VerificationOutcome? {
        while end.wait(timeout: .now() + .milliseconds(100)) == .timedOut { sign() }
        try cancellation?.check()
        return outcome
    }

    /// Stops the check, and returns when its connection is free.
    func stop() {
        stopping.cancel()
        end.wait()
    }

    private var continues: Bool {
        !stopping.isCancelled && cancellation?.isCancelled != true
    }
}
