import Foundation
import TestSupport
import Testing

/// The built tool with a folder of its own: a database, a folder of migrations, a password file.
struct Tool {
    /// The password of the store; another one for every test.
    let password: String
    let isRawKey: Bool
    let folder: TemporaryFolder
    var environment: [String: String]

    /// - Parameter isRawKey: Whether the password is a raw key's digits, which open a store without
    ///   the tenth of a second that a passphrase takes.
    init(environment: [String: String] = [:], isRawKey: Bool = false) throws {
        self.isRawKey = isRawKey
        password =
            isRawKey
            ? Self.randomDigits(count: 64)
            : "correct horse \(UInt64.random(in: 1...UInt64.max)) — ünïcode"
        folder = try TemporaryFolder()
        self.environment = environment
        // Here the search for settings ends, so that none above the folder are found.
        self.environment["HOME"] = folder.path
        if self.environment["PATH"] == nil {
            self.environment["PATH"] = ProcessInfo.processInfo.environment["PATH"]
        }
        try folder.makeFolder("migrations")
        try folder.write("password", (password + "\n").utf8)
    }

    /// Whether the tool has a SQLCipher before 4.14, such as that of Debian 12 and 13.
    static var hasOldEngine: Bool {
        get throws {
            let tool = try builtExecutable("migrationkit-cli")
            return try TestSupport.run(tool, ["--version"]).stdout.contains("- wal-reset:")
        }
    }

    var database: String { folder.path("store.db") }
    var migrations: String { folder.path("migrations") }

    /// What a command needs to open the store.
    var opening: [String] {
        ["--db-path", database, "--password-file", folder.path("password")]
            + (isRawKey ? ["--raw-key"] : [])
    }

    /// Hexadecimal digits for a raw key.
    static func randomDigits(count: Int) -> String {
        (0..<count).map { _ in String(Int.random(in: 0..<16), radix: 16) }.joined()
    }

    func write(_ name: String, up: String, down: String? = nil) throws {
        let down = down.map { "\n-- migrate:down\n\($0)\n" } ?? ""
        try folder.write("migrations/\(name).sql", "-- migrate:up\n\(up)\n\(down)".utf8)
    }

    /// Three migrations that can all be undone.
    func writeItems() throws {
        try write("0001_items", up: "CREATE TABLE item (id INTEGER);", down: "DROP TABLE item;")
        try write("0002_row", up: "INSERT INTO item VALUES (1);", down: "DELETE FROM item;")
        try write("0003_tags", up: "CREATE TABLE tag (id INTEGER);", down: "DROP TABLE tag;")
    }

    /// Runs a command as it is given.
    func run(_ arguments: String..., input: String = "") throws -> ProcessResult {
        try run(arguments, input: input)
    }

    func run(_ arguments: [String], input: String = "") throws -> ProcessResult {
        try TestSupport.run(
            builtExecutable("migrationkit-cli"),
            arguments,
            environment: environment,
            input: input.utf8,
            newSession: true
        )
    }

    /// Runs a command on the store and its migrations.
    func onStore(_ command: String, _ arguments: String...) throws -> ProcessResult {
        try run([command] + opening + ["--migrations", migrations] + arguments)
    }

    /// Runs SQL on the store in the `sqlcipher` shell.
    func shell(_ sql: String) throws -> String {
        try SQLCipherShell.run(database, key: isRawKey ? "x'\(password)'" : password, sql)
    }
}
