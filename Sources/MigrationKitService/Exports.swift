// What the initializers take and the errors have: a server imports this alone beside GRDB and its keys.
@_exported import MigrationKit
@_exported import MigrationKitCommon
@_exported import MigrationKitGRDB
@_exported import MigrationKitSQLCipher
