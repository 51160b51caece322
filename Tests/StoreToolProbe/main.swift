import Foundation
import GRDB
import MigrationKitKeys
import MigrationKit
import MigrationKitCLI
import MigrationKitGRDB
import MigrationKitSQLCipher

// A program with a store of its own, and the commands for it: `StoreToolProbe FOLDER COMMAND ...`.
// The folder has the file with the key.

let folder = CommandLine.arguments.dropFirst().first ?? "."
let runner = try GRDBMigrationRunner(steps: [
    MigrationStep(
        identifier: "0001_notes",
        sourceFile: "main.swift",
        apply: { try $0.execute(sql: "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT)") },
        rollback: { try $0.execute(sql: "DROP TABLE note") }
    )
])
let store = EncryptedStore(
    path: folder + "/notes.db",
    key: KeySourceStore(.file(path: folder + "/notes.key"), form: .rawKey)
)
MigrationCLI.main(
    arguments: Array(CommandLine.arguments.dropFirst(2)),
    host: MigrationCLIHost(runner: runner, store: store, commandName: "notes db")
)
