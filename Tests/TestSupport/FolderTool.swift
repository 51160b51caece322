import Foundation
import Testing

/// What a test's tool works on: a folder of its own with a folder of migrations and a password file.
public struct ToolFolder: Sendable {
    /// The password of the store; another one for every test.
    public let password: String
    /// Whether the password is a raw key's digits.
    public let isRawKey: Bool
    /// Where everything is.
    public let folder: TemporaryFolder
    /// The tool's environment.
    public var environment: [String: String]

    /// A new folder.
    init(environment: [String: String], isRawKey: Bool) throws {
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

    /// Hexadecimal digits for a raw key.
    public static func randomDigits(count: Int) -> String {
        (0..<count).map { _ in String(Int.random(in: 0..<16), radix: 16) }.joined()
    }
}

/// The tool with a folder of its own, as a process or within the tests' own.
public protocol FolderTool: Sendable {
    /// What it works on.
    var own: ToolFolder { get set }

    /// The tool in a folder.
    init(own: ToolFolder)

    /// Runs a command as it is given.
    func run(_ arguments: [String], input: String) throws -> ProcessResult
}

extension FolderTool {
    /// The tool in a new folder.
    ///
    /// - Parameter isRawKey: Whether the password is a raw key's digits, which open a store without
    ///   the tenth of a second that a passphrase takes.
    public init(environment: [String: String] = [:], isRawKey: Bool = false) throws {
        self.init(own: try ToolFolder(environment: environment, isRawKey: isRawKey))
    }

    /// The password of the store.
    public var password: String { own.password }

    /// Where everything is.
    public var folder: TemporaryFolder { own.folder }

    /// The tool's environment.
    public var environment: [String: String] {
        get { own.environment }
        set { own.environment = newValue }
    }

    /// Runs a command as it is given.
    public func run(_ arguments: [String]) throws -> ProcessResult {
        try run(arguments, input: "")
    }

    /// The database.
    public var database: String { folder.path("store.db") }
    /// The folder of migrations.
    public var migrations: String { folder.path("migrations") }

    /// What a command needs to open the store.
    public var opening: [String] {
        ["--db-path", database, "--password-file", folder.path("password")]
            + (own.isRawKey ? ["--raw-key"] : [])
    }

    /// Writes a migration.
    public func write(_ name: String, up: String, down: String? = nil) throws {
        let down = down.map { "\n-- migrate:down\n\($0)\n" } ?? ""
        try folder.write("migrations/\(name).sql", "-- migrate:up\n\(up)\n\(down)".utf8)
    }

    /// Three migrations that can all be undone.
    public func writeItems() throws {
        try write("0001_items", up: "CREATE TABLE item (id INTEGER);", down: "DROP TABLE item;")
        try write("0002_row", up: "INSERT INTO item VALUES (1);", down: "DELETE FROM item;")
        try write("0003_tags", up: "CREATE TABLE tag (id INTEGER);", down: "DROP TABLE tag;")
    }

    /// Runs a command as it is given.
    public func run(_ arguments: String..., input: String = "") throws -> ProcessResult {
        try run(arguments, input: input)
    }

    /// Runs a command on the store and its migrations.
    public func onStore(_ command: String, _ arguments: String...) throws -> ProcessResult {
        try run([command] + opening + ["--migrations", migrations] + arguments, input: "")
    }

    /// The store's key as other programs are given it.
    public var shellKey: String { own.isRawKey ? "x'\(password)'" : password }

    /// Runs SQL on the store in the `sqlcipher` shell.
    public func shell(_ sql: String) throws -> String {
        try SQLCipherShell.run(database, key: shellKey, sql)
    }
}
