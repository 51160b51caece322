import Foundation
import TestSupport
import Testing

/// A database with its key in a real Secret Service, for the tool, an app and other programs.
struct RotatedDatabase {
    /// That of the app, which is FirstLaunchProbe.
    static let service = "org.example.FirstLaunch"
    static let pendingService = "migrationkit-pending: \(service)"
    static let previousService = "migrationkit-previous: \(service)"

    let secrets: PrivateSecretService
    let tool: Tool
    let marker = "KLARTEXT-\(UInt64.random(in: 1 << 60 ... .max))"
    private let rowCount = 300

    init(_ journalMode: String = "DELETE", in secrets: PrivateSecretService? = nil) throws {
        let secrets = try secrets ?? PrivateSecretService()
        self.secrets = secrets
        tool = try Tool(environment: secrets.environment, isRawKey: true)
        try tool.writeItems()
        _ = try tool.shell(
            """
            PRAGMA journal_mode = \(journalMode);
            CREATE TABLE note (id INTEGER PRIMARY KEY, body TEXT);
            CREATE INDEX note_body ON note (body);
            WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT \(rowCount))
            INSERT INTO note SELECT x, '\(marker) ' || hex(zeroblob(400)) || x FROM n;
            """
        )
        try store(tool.password)
    }

    // MARK: - Commands

    /// What names the database and its key's item.
    var opening: [String] { ["--db-path", tool.database] + item }
    var item: [String] { ["--keychain-service", Self.service, "--keychain-account", "main"] }

    func run(_ command: String..., more: [String] = []) throws -> ProcessResult {
        try tool.run(command + opening + more)
    }

    func status() throws -> ProcessResult {
        try run("status", more: ["--migrations", tool.migrations])
    }

    /// Starts a rotation, which others may keep waiting.
    func startRotation(_ more: String...) throws -> ChildProcess {
        try ChildProcess(
            builtExecutable("migrationkit-cli"),
            rotation + more,
            environment: tool.environment,
            newSession: true
        )
    }

    /// Opens the database as an app does, with `EncryptedStore`, and adds a row to a table.
    func launch() throws -> ProcessResult {
        try TestSupport.run(
            builtExecutable("FirstLaunchProbe"),
            [tool.database, "main"],
            environment: tool.environment
        )
    }

    /// The command of a rotation.
    var rotation: [String] { ["key", "rotate"] + opening }

    /// Runs a rotation that is killed before a system call of its own.
    func rotateUntilKilled(before call: String, _ ordinal: Int) throws -> ProcessResult {
        try KillPoint(call: call, ordinal: ordinal).run(rotation, in: self)
    }

    /// Runs a command of the tool under strace with these options.
    func run(_ command: [String], under options: [String]) throws -> ProcessResult {
        try TestSupport.run(
            "strace",
            ["-f", "-qq", "-o", secrets.folder.path("trace")] + options
                + [builtExecutable("migrationkit-cli")] + command,
            environment: tool.environment,
            newSession: true
        )
    }

    /// The lines of the last trace.
    func trace() throws -> [Substring] {
        String(decoding: try secrets.folder.data("trace"), as: UTF8.self).split(separator: "\n")
    }

    /// Kills a rotation when the file has its new key and the item has not.
    ///
    /// - Parameter sealing: Whether the key is first sealed beside it, which is two calls more.
    func killAfterTheReplacement(sealing: Bool = false) throws {
        // The first is that of the new file, the second and the third of the folder's names.
        let killed = try rotateUntilKilled(before: "fsync", sealing ? 5 : 3)
        #expect(killed.signal == SIGKILL, "\(killed)")
        #expect(try items(of: Self.pendingService).count == 1)
        let key = try #require(try key())
        #expect(throws: ProcessFailure.self) { try content(key) }
    }

    // MARK: - Items

    /// Stores a key as another program does.
    func store(_ key: String, username: String = "main") throws {
        let stored = try tool.run(
            [
                "key", "set", "--keychain-service", Self.service, "--keychain-account", username,
                "--raw-key", "--password-file", "-",
            ],
            input: key
        )
        try #require(stored.status == 0, "\(stored)")
    }

    /// The digits of the key, as another program reads them; `nil` if there is no item.
    func key(service: String = Self.service, username: String = "main") throws -> String? {
        for _ in 1...5 {
            let found = try secrets.run(
                "secret-tool",
                ["lookup", "service", service, "username", username]
            )
            if found.status == 0 { return found.stdout }
            // Where there is no such item, it says nothing. KWallet fails 1 in 256 exchanges of
            // session keys.
            if found.stderr.isEmpty { return nil }
        }
        throw PrivateSecretService.Failure(description: "secret-tool reads no key")
    }

    /// The accounts of the items of a service.
    func items(of service: String) throws -> [String] {
        let list = try tool.run("key", "list", "--keychain-service", service, "--json")
        let items = try #require(try list.json()["items"] as? [[String: Any]], "\(list)")
        return items.compactMap { $0["account"] as? String }
    }

    // MARK: - What There Is

    /// What other programs read from the database.
    func content(_ key: String, path: String? = nil) throws -> String {
        try SQLCipherShell.run(
            path ?? tool.database,
            key: "x'\(key)'",
            """
            PRAGMA integrity_check;
            SELECT count(*), sum(id), sum(length(body)) FROM note WHERE body LIKE '\(marker)%';
            """
        )
    }

    /// What they are to read.
    var expectedContent: String {
        let length = (1...rowCount).reduce(0) { $0 + marker.count + 801 + "\($1)".count }
        return "ok\n\(rowCount)|\(rowCount * (rowCount + 1) / 2)|\(length)"
    }

    /// The whole database has the key of the item, and nothing else is left of a rotation.
    func expectSettled(sourceLocation: SourceLocation = #_sourceLocation) throws {
        #expect(try items(of: Self.pendingService) == [], sourceLocation: sourceLocation)
        let key = try #require(try key(), sourceLocation: sourceLocation)
        #expect(try content(key) == expectedContent, sourceLocation: sourceLocation)
        try expectNoTrace(sourceLocation: sourceLocation)
    }

    /// No file has its text in the clear.
    func expectNoTrace(sourceLocation: SourceLocation = #_sourceLocation) throws {
        let clear = try tool.folder.paths.filter { name in
            guard !name.hasPrefix("migrations/") else { return false }
            return try tool.folder.data(name).range(of: Data(marker.utf8)) != nil
        }
        #expect(clear == [], sourceLocation: sourceLocation)
    }

    /// The names of temporary files.
    var temporaryNames: [String] {
        get throws { try tool.folder.names.filter { $0.hasPrefix(".") } }
    }
}
