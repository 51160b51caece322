// Migrates an encrypted database the way an app on GRDB alone does: with `DatabaseMigrator`, and
// without a lock of ours.
//
//   PlainMigratorProbe DATABASE MIGRATIONS      the raw key in hexadecimal on standard input
//
// Prints the identifiers of the steps that it has applied, one a line. What went wrong is the only
// line of standard error: SQLite's code and words, with status 1.

import Foundation
import GRDB
import KeyStore
import MigrationKitSQL
import MigrationKitSQLCipher

func migrate(_ database: String, with migrations: String) throws {
    let folder = try MigrationFolder(path: migrations)
    var migrator = DatabaseMigrator()
    for step in folder.steps {
        migrator.registerMigration(step.identifier) { db in
            try step.apply(db)
            db.afterNextTransaction { _ in print(step.identifier) }
        }
    }
    let key = try KeyResolver { throw CocoaError(.featureUnsupported) }
        .key(from: .standardInput, form: .rawKey)
    let queue = try DatabaseQueue(
        path: database,
        configuration: EncryptedDatabase.configuration(key: key)
    )
    try migrator.migrate(queue)
}

do {
    try migrate(CommandLine.arguments[1], with: CommandLine.arguments[2])
} catch let error as DatabaseError {
    StandardError.write("\(error.resultCode.rawValue) \(error.message ?? "")")
} catch let error as SQLStatementError {
    StandardError.write("\(error.resultCode.primaryResultCode.rawValue) \(error.sqliteMessage)")
}

enum StandardError {
    static func write(_ text: String) -> Never {
        FileHandle.standardError.write(Data((text + "\n").utf8))
        exit(1)
    }
}
