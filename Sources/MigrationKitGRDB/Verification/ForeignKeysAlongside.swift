import Dispatch
import GRDB
import MigrationKit

/// `foreign_key_check` on a connection of its own, while another one is at `quick_check`: each takes
/// a processor for itself, most of all to decrypt pages.
///
/// It only ever saves time. Whatever keeps it from a result, such as a lock, a damaged page, or a
/// function that only the caller's connection has, is left to the check on the caller's connection,
/// which then finds it out itself.
final class ForeignKeysAlongside: @unchecked Sendable {
    // `@unchecked`: `outcome` is written before `end` is left, and read after that was waited for.
    private let end = DispatchGroup()
    private let stopping = Cancellation()
    private var outcome: VerificationOutcome?
    private let cancellation: Cancellation?

    /// What runs the check on the other connection.
    typealias Reading =
        @Sendable ((Database) throws -> VerificationOutcome) throws -> VerificationOutcome

    /// Begins.
    init(_ cancellation: Cancellation?, _ reading: @escaping Reading) {
        self.cancellation = cancellation
        // A thread of its own: those of the global queues may all be waiting, such as for this.
        DispatchQueue(label: "MigrationKit.foreignKeys").async(group: end) { [self] in
            outcome = try? reading { db in
                try db.withProgressHandler(every: 20_000, { self.continues }) {
                    try GRDBMigrationVerifier.foreignKeys(in: db)
                }
            }
        }
    }

    /// Begins, on another connection of a pool, or one that is opened as a queue's was. Not for a
    /// database that is small, or that no second connection can be opened to.
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
    /// - Parameter sign: Is called while it goes on, again and again.
    /// - Returns: `nil` if there is none.
    func result(_ sign: () -> Void) throws -> VerificationOutcome? {
        while end.wait(timeout: .now() + .milliseconds(100)) == .timedOut { sign() }
        try cancellation?.check()
        return outcome
    }

    /// Ends it, and returns once its connection is free.
    func stop() {
        stopping.cancel()
        end.wait()
    }

    private var continues: Bool {
        !stopping.isCancelled && cancellation?.isCancelled != true
    }
}
