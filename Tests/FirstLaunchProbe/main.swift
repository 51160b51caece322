import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitSQLCipher
import SecretService

// An app as the tests launch it, wait for it and kill it.
//
// FirstLaunchProbe PATH ACCOUNT [--wait] [POINT]
//
// Says "ready" and, with --wait, waits for a line; then opens the store with a key in the Secret
// Service, which encrypts what an earlier version has left in plaintext, adds a row to it and says "done". It tells of each point on its way, and kills itself at
// the one that is given.

var words = Array(CommandLine.arguments.dropFirst())
let waits = words.contains("--wait")
words.removeAll { $0 == "--wait" }
let point = words.count > 2 ? LaunchPoint(rawValue: words[2]) : nil
guard words.count == 2 || point != nil else {
    FileHandle.standardError.write(Data("usage: PATH ACCOUNT [--wait] [POINT]\n".utf8))
    exit(64)
}

do {
    let store = EncryptedStore(
        path: words[0],
        keyStore: MortalKeyStore(point: point),
        service: "org.example.FirstLaunch",
        account: words[1],
        options: .init(
            busyTimeout: 60,
            prepareDatabase: { db in
                let pages = try Int.fetchOne(db, sql: "PRAGMA page_count")
                if pages == 0 { LaunchPoint.fileIsEmpty.pass(point) }
            }
        ),
        encryptsPlaintext: true
    )
    LaunchPoint.ready.pass(point)
    if waits { _ = readLine() }
    let database = try store.open()
    LaunchPoint.storeIsOpen.pass(point)
    try database.inTransaction(.immediate) { db in
        try db.execute(
            sql: "CREATE TABLE IF NOT EXISTS launch(n); INSERT INTO launch VALUES (1)"
        )
        return .commit
    }
    try database.close()
    LaunchPoint.done.pass(point)
} catch {
    FileHandle.standardError.write(Data("\(type(of: error)).\(error)\n".utf8))
    exit(1)
}
