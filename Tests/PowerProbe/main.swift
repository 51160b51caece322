import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitGRDB
import MigrationKitPages
import MigrationKitSQL
import MigrationKitSQLCipher
import PowerCuts

// Cuts the power of recorded runs, and is itself what is recorded for the commands that need a key
// store. Scripts/check-power says how it is used.
//
// PowerProbe record|cut|ignore FOLDER [--random N] [--seed S] [--most N] [--repeat N] [NAME...]
// PowerProbe fail FOLDER [--seed S] [--most N] [--tolerated 1] NAME... [CALL...]
// PowerProbe state FOLDER NAME CUT OUTPUT
// PowerProbe operations FOLDER NAME
// PowerProbe list [ignore]
// PowerProbe launch|launch-pool|launch-open|migrate-open|migrate-restart|migrate-sorting|rotate|rotate-discard|rotate-settle|rotate-forgetful PLACE

let words = Array(CommandLine.arguments.dropFirst())
do {
    switch words.first {
    case "launch", "launch-pool", "launch-open", "migrate-open", "migrate-restart",
        "migrate-sorting", "rotate", "rotate-discard", "rotate-settle", "rotate-forgetful":
        try act(words[0], Place(words[1]))
    case "record", "cut", "fail", "ignore", "state", "operations", "list":
        try PowerCommand(words).run()
    default:
        FileHandle.standardError.write(Data("usage: see Scripts/check-power\n".utf8))
        exit(64)
    }
} catch {
    FileHandle.standardError.write(Data("\(type(of: error)).\(error)\n".utf8))
    exit(1)
}

/// What an app does with its store.
func act(_ name: String, _ place: Place) throws {
    let keyStore = try RecordedKeyStore(
        place.read("keys"),
        path: place.keyStore,
        hasWritten: name != "rotate-forgetful"
    )
    let store = EncryptedStore(
        path: place.database,
        keyStore: keyStore,
        service: Place.service,
        account: Place.account
    )
    switch name {
    case "migrate-open", "migrate-restart", "migrate-sorting":
        let runner = try GRDBMigrationRunner(
            steps: MigrationFolder(path: place.migrations).steps
        )
        let database: any DatabaseWriter = try EncryptedDatabase.open(
            place.database,
            key: place.key()
        )
        if name == "migrate-sorting" {
            // As if other connections had taken all memory for temporary files: what SQLite sorts
            // goes to the disk.
            TemporaryStorage.room.take(TemporaryStorage.memoryLimit, limited: false)
        }
        if name == "migrate-restart" {
            // After the second step the log is moved into the file, and the third begins it anew.
            try database.writeWithoutTransaction {
                try $0.execute(sql: "PRAGMA wal_autocheckpoint = 8")
            }
        }
        // Each step is durable when its event comes.
        let options = MigrationOptions(observer: { event in
            if case .stepFinished = event { print("done") }
        })
        _ = try runner.migrate(in: database, options: options)
        leaveOpen(database)
    case "launch", "launch-pool", "launch-open":
        let database: any DatabaseWriter =
            name == "launch" ? try store.open() : try store.openPool()
        // How durable an app's own commits are is its choice; without this, the last one isn't.
        try database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = EXTRA") }
        try database.write { db in
            try db.execute(sql: "CREATE TABLE launch (n); INSERT INTO launch VALUES (1)")
        }
        if name == "launch-open" { leaveOpen(database) }
        try database.close()
    case "rotate-settle":
        guard rename(place.disk + Scenario.draft, place.database) == 0 else {
            throw DatabaseConversionError.cannotWrite(path: place.database, code: errno)
        }
        try store.open().close()
    default:
        try store.keyRotation(keepsOldKey: name != "rotate-discard").run()
    }
    print("done")
}

/// Says that the work is done, and ends as an app that is killed.
///
/// What closes a database in WAL mode last moves the log into the file, and synchronizes both. An app
/// that stays open has its commits in the log alone.
func leaveOpen(_ database: any DatabaseWriter) -> Never {
    print("done")
    withExtendedLifetime(database) { exit(0) }
}
