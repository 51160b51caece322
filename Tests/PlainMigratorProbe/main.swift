// Migrates an encrypted database the way an app on GRDB alone does: with `DatabaseMigrator`, and
// without a lock of ours. Like an app that is started again, it tries again when it has failed.
//
//   PlainMigratorProbe DATABASE MIGRATIONS ATTEMPTS    the raw key in hexadecimal on standard input
//
// Prints the identifiers of the steps that it has applied, one a line, and on standard error what
// went wrong in each attempt: SQLite's code and words. The status is that of the last attempt.

import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitSQL
import MigrationKitSQLCipher

let folder = try MigrationFolder(path: CommandLine.arguments[2])
var migrator = DatabaseMigrator()
for step in folder.steps {
    migrator.registerMigration(step.identifier) { db in
        try step.apply(db)
        db.afterNextTransaction { _ in
            print(step.identifier)
            // Leaves room for others, who wait for SQLite's lock in pauses of milliseconds.
            usleep(2000)
        }
    }
}
let key = try KeyResolver { InMemoryKeyStore() }.key(from: .standardInput, form: .rawKey)
let configuration = EncryptedDatabase.configuration(key: key)

func complain(_ code: ResultCode, _ message: String?) {
    FileHandle.standardError.write(Data("\(code.rawValue) \(message ?? "")\n".utf8))
}

for _ in 0..<(Int(CommandLine.arguments[3]) ?? 1) {
    do {
        try migrator.migrate(
            DatabaseQueue(path: CommandLine.arguments[1], configuration: configuration)
        )
        exit(0)
    } catch let error as DatabaseError {
        complain(error.resultCode, error.message)
    } catch let error as SQLStatementError {
        complain(error.resultCode.primaryResultCode, error.sqliteMessage)
    }
}
exit(1)
