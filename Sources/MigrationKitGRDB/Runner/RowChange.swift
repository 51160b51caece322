import GRDB

extension GRDBMigrationRunner {
    /// Runs a change of rows that isn't a migration, the way a run of migrations works: no other
    /// process migrates or rewrites the database meanwhile, locks are waited for, and what is
    /// committed outlives a power cut.
    ///
    /// - Parameters:
    ///   - writer: The database, opened for writing.
    ///   - options: How long to wait for others, and who may end the waiting.
    ///   - body: Makes the change. It begins and ends its own transaction.
    /// - Returns: What the body returns.
    /// - Throws: `MigrationKitError.locked(path:holder:seconds:)`; a `CancellationError`; what the
    ///   body throws.
    package static func changeRows<Value>(
        in writer: any DatabaseWriter,
        options: MigrationOptions,
        _ body: (Database) throws -> Value
    ) throws -> Value {
        try MigrationLock.hold(for: writer, options: options) {
            try BusyWaiting.during(options, on: writer) {
                try DurableCommits.during(on: writer) {
                    try writer.writeWithoutTransaction { db in
                        try options.operation.watching(db, every: 20_000, reporting: { [] }) {
                            try body(db)
                        }
                    }
                }
            }
        }
    }
}
