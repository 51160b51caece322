#if DEBUG || ERASABLE
    import GRDB
    import MigrationKitGRDB

    extension GRDBMigrationRunner {
        /// Drops everything in the database if a step was changed after it was applied, so that the
        /// next run starts over.
        ///
        /// **This destroys all rows.** It is for development, and only in debug builds. It also
        /// works on an encrypted database, which keeps its key.
        ///
        /// - Parameter writer: The database, opened for writing.
        /// - Returns: Whether the database was erased.
        /// - Throws: What `hasSchemaChanges(in:)` throws; a `DatabaseError`.
        @discardableResult
        public func eraseDatabaseOnSchemaChange(in writer: any DatabaseWriter) throws -> Bool {
            guard try hasSchemaChanges(in: writer) else { return false }
            try writer.eraseContent()
            return true
        }
    }
#endif
