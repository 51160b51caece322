import Foundation
import GRDB
import MigrationKitKeys
import MigrationKit
import MigrationKitCLI
import MigrationKitGRDB
import MigrationKitSQLCipher
import TestSupport
import Testing

/// The commands of a program with a store of its own: every one works without an option.
@Suite struct StoreHostTests {
    private let folder: TemporaryFolder
    private let keys = InMemoryKeyStore()
    private let output = Lines()
    private let errorOutput = Lines()

    init() throws {
        folder = try TemporaryFolder()
    }

    /// The column's CHECK needs the program's own function.
    private func runner() throws -> GRDBMigrationRunner {
        try GRDBMigrationRunner(steps: [
            MigrationStep(
                identifier: "0001_notes",
                sourceFile: "M0001.swift",
                apply: { db in
                    try db.execute(
                        sql: "CREATE TABLE note (id INTEGER PRIMARY KEY, text CHECK (isFine(text)))"
                    )
                    try db.execute(sql: "INSERT INTO note (text) VALUES ('first')")
                },
                rollback: { try $0.execute(sql: "DROP TABLE note") }
            ),
            MigrationStep(
                identifier: "0002_tags",
                sourceFile: "M0002.swift",
                apply: { try $0.execute(sql: "CREATE TABLE tag (name TEXT)") },
                rollback: { try $0.execute(sql: "DROP TABLE tag") }
            ),
        ])
    }

    private var options: EncryptedDatabase.Options {
        let isFine = DatabaseFunction("isFine", argumentCount: 1, pure: true) { _ in true }
        return EncryptedDatabase.Options(functions: [isFine])
    }

    private var store: EncryptedStore {
        EncryptedStore(
            path: folder.path("notes.db"),
            keyStore: keys,
            service: "org.example.Notes",
            account: "main",
            options: options
        )
    }

    private func run(_ arguments: String..., store: EncryptedStore? = nil) throws {
        try MigrationCLI.run(
            arguments: arguments,
            host: MigrationCLIHost(
                runner: runner(),
                store: store ?? self.store,
                commandName: "notes db"
            ),
            output: output.append,
            errorOutput: errorOutput.append
        )
    }

    @Test func migrateMakesKeyAndFileAsALaunchDoes() throws {
        try run("migrate")
        #expect(output.text.contains("0002_tags"))
        #expect(folder.mode("notes.db") == 0o600)
        #expect(try keys.items(service: "org.example.Notes", account: "main").count == 1)
        // The app opens what the command made.
        let queue = try store.open()
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM note") } == 1)
        try queue.close()
    }

    @Test func everyCommandWorksWithoutAnOption() throws {
        try run("migrate", "--dry-run")
        #expect(try folder.names.isEmpty)
        #expect(errorOutput.text.hasPrefix("note: there is no database"))
        try run("migrate")
        for command in [
            ["status"], ["status", "--show-settings"], ["history"], ["plan"], ["verify"],
            ["verify", "--full"], ["inspect", "--tables"], ["key", "check"], ["key", "list"],
            ["key", "show"], ["schema-dump"], ["schema-dump", "--format", "json"], ["lint"],
            ["rollback"], ["rehearse"], ["redo"], ["migrate"],
            ["schema-diff", "--to", store.path],
            ["backup", "--output", folder.path("backup.db")],
            ["inspect", folder.path("backup.db")],
            ["restore", "--from", folder.path("backup.db"), "--yes"],
            ["salvage", "--output", folder.path("salvaged.db")],
            ["key", "rotate"],
            ["verify", "--full"],
            ["encrypt", "--help"], ["manual"], ["completions", "fish"],
        ] {
            do {
                try MigrationCLI.run(
                    arguments: command,
                    host: MigrationCLIHost(runner: runner(), store: store),
                    output: output.append,
                    errorOutput: errorOutput.append
                )
            } catch {
                Issue.record("\(command): \(error)")
            }
        }
        #expect(output.text.contains("The key opens"))
        #expect(output.text.contains("CREATE TABLE tag"))
        #expect(output.text.contains("The database is sound."))
        // The old key was kept, and the store opens with the new one.
        #expect(
            try keys.items(service: "migrationkit-previous: org.example.Notes", account: nil).count
                == 1
        )
        try store.open().close()
        let notes = errorOutput.text.split(separator: "\n").filter {
            // Depends on which engine is linked.
            !$0.hasPrefix("note: the SQLite in this program has faults")
        }
        #expect(notes.count == 1)
    }

    @Test func schemaDumpIsLoadedAgain() throws {
        let dump = folder.path("schema.sql")
        try run("schema-dump", "--output", dump)
        try run("schema-load", dump)
        try run("status")
        #expect(output.text.contains("Loaded"))
        #expect(try keys.items(service: "org.example.Notes", account: "main").count == 1)
        let queue = try store.open()
        #expect(try !runner().hasPendingMigrations(in: queue))
        try queue.close()
    }

    @Test func commandsThatOnlyReadMakeNothing() throws {
        for command in [
            ["status"], ["verify"], ["key", "check"], ["inspect"],
            ["backup", "--output", folder.path("b")],
        ] {
            let error = #expect(throws: (any Error).self) {
                try MigrationCLI.run(
                    arguments: command,
                    host: MigrationCLIHost(runner: runner(), store: store),
                    output: output.append
                )
            }
            #expect(error.map(MigrationCLI.exitCode) == 66, "\(command)")
        }
        #expect(try folder.names.isEmpty)
        #expect(try keys.items(service: nil, account: nil).isEmpty)
    }

    // MARK: - What options name

    @Test func aCopyIsOpenedWithTheStoresKey() throws {
        try run("migrate")
        let copy = folder.path("copy.db")
        try run("backup", "--output", copy)
        try run("rollback", "--steps", "2", "--db-path", copy)
        let queue = try store.open()
        #expect(try !runner().hasPendingMigrations(in: queue))
        try queue.close()
    }

    @Test func anotherKeyIsNamedByAnOption() throws {
        try run("migrate")
        let path = try folder.write("password", "another\n".utf8)
        let other = folder.path("other.db")
        try run("migrate", "--db-path", other, "--password-file", path)
        #expect(throws: EncryptedDatabaseError.wrongKey(path: other)) {
            try run("status", "--db-path", other)
        }
        try run("status", "--db-path", other, "--password-file", path)
        #expect(try keys.items(service: nil, account: nil).count == 1)
    }

    @Test func theOptionsOfTheKeychainSearchTheStoresOwn() throws {
        try run("migrate")
        try run("key", "rotate")
        let former = try #require(
            try keys.items(service: "migrationkit-previous: org.example.Notes", account: nil).first
        )
        #expect(throws: (any Error).self) {
            try run(
                "key",
                "check",
                "--keychain-service",
                former.service,
                "--keychain-account",
                former.account ?? ""
            )
        }
        try keys.store(
            keys.key(service: "org.example.Notes", account: "main"),
            service: "copy",
            account: "c"
        )
        try run("key", "check", "--keychain-service", "copy", "--keychain-account", "c")
    }

    // MARK: - A key source

    @Test func aKeySourceIsEnough() throws {
        let digits = String(repeating: "5e", count: 32)
        let path = try folder.write("key", "\(digits)\n".utf8)
        let store = EncryptedStore(
            path: folder.path("notes.db"),
            key: KeySourceStore(.file(path: path), form: .rawKey),
            options: options
        )
        try run("migrate", store: store)
        for command in [["status"], ["verify", "--full"], ["inspect"], ["key", "check"]] {
            try MigrationCLI.run(
                arguments: command,
                host: MigrationCLIHost(runner: runner(), store: store),
                output: output.append
            )
        }
        #expect(throws: KeyStoreError.readOnly(source: "the file \"\(path)\"")) {
            try run("key", "rotate", store: store)
        }
        // Nothing was changed, and the database can still be given another key.
        let new = try folder.write("new", String(repeating: "a1", count: 32).utf8)
        try run("rekey", "--new-password-file", new, "--new-raw-key", store: store)
        #expect(throws: EncryptedDatabaseError.self) { try store.open() }
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.moveItem(atPath: new, toPath: path)
        try store.open().close()
    }

    // MARK: - Names

    @Test func textsNameTheProgramAsPeopleTypeIt() throws {
        try run("migrate", "--help")
        #expect(output.text.contains("USAGE: notes db migrate"))
        try run("--help")
        #expect(output.text.contains("USAGE: notes db <subcommand>"))
        let host = MigrationCLIHost(runner: try runner(), openWriter: { _ in try DatabaseQueue() })
        try MigrationCLI.run(arguments: ["status", "--help"], host: host, output: output.append)
        // Another host's name doesn't stay.
        #expect(!output.text.contains("USAGE: notes db status"))
    }

    @Test func aNameIsForTheOtherHostsToo() throws {
        var host = MigrationCLIHost(runner: try runner(), openWriter: { _ in try DatabaseQueue() })
        host.commandName = "notes-admin"
        try MigrationCLI.run(arguments: ["status", "--help"], host: host, output: output.append)
        #expect(output.text.contains("USAGE: notes-admin status"))
    }
}
