import GRDB
import MigrationKit
import MigrationKitCommon

/// Runs a check on its own connection while another one runs another check. Each keeps a processor
/// busy, mostly with decrypting pages.
///
/// It only saves time. If it gets no result, because of a lock, a damaged page, or a function that
/// only the caller's connection has, the caller's connection runs the check itself.
package final class CheckAlongside<Value: Sendable>: Sendable {
    private let work: WorkAlongside<Value>
    private let stopping = Cancellation()
    private let cancellation: Cancellation?

    /// Runs the check on the other connection.
    package typealias Reading = @Sendable ((Database) throws -> Value) throws -> Value

    /// Starts the check.
    ///
    /// - Parameters:
    ///   - check: The check.
    ///   - reading: Opens a connection for it.
    package init(
        _ cancellation: Cancellation?,
        _ check: @escaping @Sendable (Database) throws -> Value,
        _ reading: @escaping Reading
    ) {
        self.cancellation = cancellation
        work = WorkAlongside { [stopping] in
            let continues = { !stopping.isCancelled && cancellation?.isCancelled != true }
            return try reading { db in
                try db.withProgressHandler(every: 20_000, continues) { try check(db) }
            }
        }
    }

    /// Waits for the outcome.
    ///
    /// - Parameter sign: Called again and again meanwhile.
    /// - Returns: `nil` if there is no outcome.
    package func result(_ sign: () -> Void) throws -> Value? {
        let result = work.result(whileWaiting: sign)
        try cancellation?.check()
        return try? result.get()
    }

    /// Stops the check, and returns when its connection is free.
    package func stop() {
        stopping.cancel()
        _ = work.result()
    }
}

extension CheckAlongside<VerificationOutcome> {
    /// Starts `foreign_key_check` on another connection, with the writer's configuration. Returns
    /// `nil` if the database is small or allows no second connection.
    convenience init?(foreignKeysIn writer: any DatabaseWriter, _ cancellation: Cancellation?) {
        guard let path = try? writer.largeFile() else { return nil }
        self.init(cancellation, GRDBMigrationVerifier.foreignKeys) { body in
            guard writer is DatabaseQueue else { return try writer.read(body) }
            var configuration = writer.configuration.forReadingAlongside
            configuration.readonly = true
            return try DatabaseQueue(path: path, configuration: configuration).readAndClose(body)
        }
    }
}
