import MigrationKitGRDB

extension String {
    /// The name in quotation marks, for SQL.
    package var quotedName: String {
        GRDBMigrationSQLHelpers.quoted(self)
    }
}
