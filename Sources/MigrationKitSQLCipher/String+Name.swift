import MigrationKitGRDB

extension String {
    /// The name in quotation marks, for SQL.
    var quotedName: String {
        GRDBMigrationSQLHelpers.quoted(self)
    }
}
