import Dispatch
import Foundation
import GRDB
import MigrationKitKeys
import MigrationKit
import MigrationKitGRDB
import MigrationKitSQLCipher

// probe grdb-migrate DATABASE KEY-FILE FOLDER   plain GRDB's migrator, a step for each file
// probe grdb-pool DATABASE KEY-FILE             plain GRDB's pool, five readers at once
// probe pool DATABASE KEY-FILE                  the same through EncryptedDatabase
// probe single DATABASE KEY-FILE                one connection through EncryptedDatabase
// probe grdb-open DATABASE KEY-FILE             plain GRDB opens the file and reads the ledger
// probe launch DATABASE KEY-FILE                an app's launch: EncryptedStore, then the runner
//
// The last two print how many seconds that took within the process.
//
// A key file that begins with x' is a raw key in SQLCipher's spelling.

let readerCount = 5

/// As GRDB's documentation has it: every connection is given the passphrase.
func plainConfiguration(_ key: String) -> Configuration {
    var configuration = Configuration()
    configuration.prepareDatabase { db in
        let literal = key.replacing("'", with: "''")
        try db.execute(sql: "PRAGMA key = '\(literal)'")
    }
    return configuration
}

func databaseKey(_ text: String) throws -> DatabaseKey {
    guard text.hasPrefix("x'") else { return try .passphrase(Secret(utf8: text)) }
    return try .rawKey(hexadecimal: Secret(utf8: String(text.dropFirst(2).dropLast())))
}

/// Has every reader of a pool in use at the same moment.
func useReaders(of pool: DatabasePool) throws {
    let together = DispatchSemaphore(value: 0)
    let arrived = DispatchSemaphore(value: 0)
    let group = DispatchGroup()
    for number in 0..<readerCount {
        // A queue each: the global ones have threads for the cores, and more only with delay.
        DispatchQueue(label: "reader \(number)").async(group: group) {
            do {
                try pool.read { db in
                    _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM grdb_migrations")
                    arrived.signal()
                    together.wait()
                }
            } catch {
                fatalError("\(error)")
            }
        }
    }
    for _ in 0..<readerCount { arrived.wait() }
    for _ in 0..<readerCount { together.signal() }
    group.wait()
}

func migrate(_ path: String, _ key: String, _ folder: String) throws {
    let queue = try DatabaseQueue(path: path, configuration: plainConfiguration(key))
    var migrator = DatabaseMigrator()
    for name in try FileManager.default.contentsOfDirectory(atPath: folder).sorted() {
        let text = try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
        migrator.registerMigration(name) { try $0.execute(sql: text) }
    }
    try migrator.migrate(queue)
}

func measure(_ work: () throws -> Void) rethrows {
    print(try ContinuousClock().measure(work) / .seconds(1))
}

func appliedCount(_ reader: some DatabaseReader) throws {
    _ = try reader.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM grdb_migrations") }
}

/// As the documentation of `EncryptedStore` has it, with twenty steps and a key store that takes no
/// time.
func launch(_ path: String, _ key: DatabaseKey) throws {
    let keyStore = InMemoryKeyStore()
    try keyStore.store(key, service: "probe", account: "main", label: nil, replacing: false)
    try measure {
        let runner = try GRDBMigrationRunner(
            steps: (10..<30).map { number in
                MigrationStep(
                    identifier: "\(number)",
                    apply: { try $0.execute(sql: "CREATE TABLE t\(number)(id INTEGER)") }
                )
            }
        )
        let store = EncryptedStore(
            path: path,
            keyStore: keyStore,
            service: "probe",
            account: "main"
        )
        try runner.migrate(in: store.open())
    }
}

let arguments = CommandLine.arguments
guard arguments.count > 3 else { fatalError("usage: probe COMMAND DATABASE KEY-FILE [FOLDER]") }
let path = arguments[2]
let key = try String(contentsOfFile: arguments[3], encoding: .utf8)
    .trimmingCharacters(in: .newlines)

switch arguments[1] {
case "grdb-migrate":
    try migrate(path, key, arguments[4])
case "grdb-pool":
    var configuration = plainConfiguration(key)
    configuration.maximumReaderCount = readerCount
    try useReaders(of: DatabasePool(path: path, configuration: configuration))
case "pool":
    try useReaders(of: EncryptedDatabase.openPool(path, key: databaseKey(key)))
case "single":
    _ = try EncryptedDatabase.open(path, key: databaseKey(key)).read { db in
        try Int.fetchOne(db, sql: "SELECT count(*) FROM grdb_migrations")
    }
case "grdb-open":
    try measure {
        try appliedCount(DatabaseQueue(path: path, configuration: plainConfiguration(key)))
    }
case "launch":
    try launch(path, databaseKey(key))
default:
    fatalError("no such command: \(arguments[1])")
}
