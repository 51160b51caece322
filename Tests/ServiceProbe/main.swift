import Foundation
import GRDB
import MigrationKitKeys
import Logging
import MigrationKitService
import ServiceLifecycle

// A server that serves nothing: `ServiceProbe FOLDER ROWS`. Its second migration inserts so many rows,
// with a short statement each. It prints what it does, and ends by SIGTERM.

/// Prints a line at once, even into a pipe.
func say(_ text: String) {
    FileHandle.standardOutput.write(Data((text + "\n").utf8))
}

let folder = CommandLine.arguments[1]
let rowCount = Int(CommandLine.arguments[2]) ?? 0

let runner = try GRDBMigrationRunner(steps: [
    MigrationStep(identifier: "0001_notes", sourceFile: "main.swift") { db in
        try db.execute(sql: "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT)")
    },
    MigrationStep(identifier: "0002_rows", sourceFile: "main.swift") { db in
        for number in 1...rowCount {
            try db.execute(sql: "INSERT INTO note (text) VALUES ('note')")
            if number == 100 { say("migrating") }
        }
    },
])

struct Server: Service {
    let database: MigrationService

    func run() async throws {
        let writer = try await database.database()
        let count = try await writer.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM note") }
        say("serving \(count ?? 0)")
        try await gracefulShutdown()
        say("stopped")
    }
}

let database = MigrationService(
    store: EncryptedStore(
        path: folder + "/store.db",
        key: KeySourceStore(.file(path: folder + "/password"), form: .rawKey)
    ),
    runner: runner
)
let group = ServiceGroup(
    services: [database, Server(database: database).starting(after: database)],
    gracefulShutdownSignals: [.sigterm, .sigint],
    logger: Logger(label: "probe") { _ in SwiftLogNoOpLogHandler() }
)
await group.runOrExit()
say("ended")
