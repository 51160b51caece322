import ArgumentParser
import Foundation
import GRDB
import MigrationKitKeys
import MigrationKit
import MigrationKitCLI
import MigrationKitGRDB
import Testing

/// A program with steps of its own, whose database is in memory.
@Suite struct EmbeddedCommandTests {
    let queue: DatabaseQueue
    let runner: GRDBMigrationRunner
    let output = Lines()
    let errorOutput = Lines()

    init() throws {
        queue = try DatabaseQueue()
        runner = try GRDBMigrationRunner(steps: [
            MigrationStep(
                identifier: "0001_items",
                sourceFile: "M0001.swift",
                apply: { try $0.execute(sql: "CREATE TABLE item (id)") },
                rollback: { try $0.execute(sql: "DROP TABLE item") }
            ),
            MigrationStep(
                identifier: "0002_tags",
                sourceFile: "M0002.swift",
                apply: { try $0.execute(sql: "CREATE TABLE tag (id)") },
                rollback: { try $0.execute(sql: "DROP TABLE tag") }
            ),
        ])
    }

    private var host: MigrationCLIHost {
        MigrationCLIHost(runner: runner, openWriter: { [queue] _ in queue })
    }

    private func run(_ arguments: String..., host: MigrationCLIHost? = nil) throws {
        try MigrationCLI.run(
            arguments: arguments,
            host: host ?? self.host,
            output: output.append,
            errorOutput: errorOutput.append
        )
    }

    @Test func allFiveCommandsRunOnTheHostsSteps() throws {
        try run("migrate", "--to", "0001_items")
        #expect(output.text.contains("0001_items"))
        try run("migrate")
        try run("status")
        #expect(output.text.contains("0002_tags"))
        try run("verify")
        #expect(output.text.contains("ok      quick_check"))
        try run("rollback", "--steps", "2")
        #expect(try runner.pendingMigrationIdentifiers(in: queue).count == 2)
        #expect(errorOutput.text.isEmpty)
    }

    @Test func stepsInSwiftAreChecked() throws {
        let steps =
            runner.steps + [
                MigrationStep(
                    identifier: "0003_drop",
                    sourceFile: "M0003.swift",
                    apply: { try $0.execute(sql: "DROP TABLE tag") }
                )
            ]
        let host = MigrationCLIHost(
            runner: try GRDBMigrationRunner(steps: steps),
            openWriter: { [queue] _ in queue }
        )
        let error = #expect(throws: (any Error).self) {
            try run("lint", "--level", "warning", host: host)
        }
        #expect(error.map(MigrationCLI.exitCode) == 3)
        #expect(output.text.contains("M0003.swift: warning: 0003_drop: "))
        #expect(output.text.contains("[drop-table]"))
        // Nothing was opened.
        #expect(try runner.pendingMigrationIdentifiers(in: queue).count == 2)
    }

    @Test func theHostsDatabaseSaysWhatIsPending() throws {
        try run("migrate", "--to", "0001_items")
        try run("lint", "--pending", "--json")
        #expect(output.text.contains(#""checked":1,"#))
        let error = #expect(throws: (any Error).self) { try run("lint", "--base", "main") }
        #expect(error.map(MigrationCLI.exitCode) == 64)
    }

    @Test func theHostOpensWhatIsVerifiedInFull() throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("mk-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        chmod(folder.path, 0o700)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("store.db").path
        // Without the host's function the rows can't be checked.
        var configuration = Configuration()
        configuration.prepareDatabase { db in
            db.add(function: DatabaseFunction("isFine", argumentCount: 1, pure: true) { _ in true })
        }
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        chmod(path, 0o600)
        let host = MigrationCLIHost(runner: runner, openWriter: { _ in queue })
        try run("migrate", "--db-path", path, "--no-encryption", host: host)
        try queue.write { db in
            try db.execute(sql: "CREATE TABLE t (a CHECK (isFine(a))); INSERT INTO t VALUES (1)")
        }
        try run(
            "verify",
            "--full",
            "--db-path",
            path,
            "--no-encryption",
            "--ignore-table",
            "t",
            host: host
        )
        #expect(output.text.contains("ok      schema"))
        #expect(output.text.contains("ok      ledger"))
        #expect(output.text.contains("The database is sound."))
        // It is the host's, and stays open.
        #expect(try !runner.hasPendingMigrations(in: queue))
        try queue.close()
    }

    @Test(arguments: [
        ["migrate"], ["migrationkit", "migrate"], ["/usr/bin/notes", "migrate"],
        [CommandLine.arguments[0], "migrate"],
    ])
    func programNameInFrontIsDropped(_ arguments: [String]) throws {
        try MigrationCLI.run(arguments: arguments, host: host, output: { _ in })
        #expect(try !runner.hasPendingMigrations(in: queue))
    }

    @Test func whatIsNoCommandIsNotTakenForAProgramName() throws {
        let error = #expect(throws: (any Error).self) { try run("migrat") }
        #expect(MigrationCLI.exitCode(for: try #require(error)) == 64)
    }

    @Test(arguments: [["--help"], ["help"], ["notes", "--help"], ["help", "migrate"]])
    func helpIsOutputAndNoError(_ arguments: [String]) throws {
        try MigrationCLI.run(arguments: arguments, host: host, output: output.append)
        #expect(output.text.contains("USAGE: "))
        // A host's steps are its own.
        #expect(!output.text.contains("--migrations"))
    }

    @Test(arguments: [["migrate"], ["lint"], ["fleet", "status", "--stores", "x"]])
    func folderOfMigrationsIsAnUnknownOption(_ command: [String]) {
        let result = ToolInProcess(host: host).run(command + ["--migrations", "x"])
        #expect(result.status == 64)
        #expect(result.stderr.hasPrefix("error: unknown option '--migrations'"), "\(result)")
    }

    @Test(arguments: ["init", "create"]) func filesCannotBeCreated(_ command: String) {
        let result = ToolInProcess(host: host).run(command)
        #expect(result.status == 64)
        #expect(result.stderr.hasPrefix("error: there is no command '\(command)'"), "\(result)")
    }

    @Test func hostGetsTheOptions() throws {
        let seen = Lines()
        let host = MigrationCLIHost(
            runner: runner,
            openWriter: { [queue] options in
                let expected = MigrationDatabaseOpenOptions(
                    dbPath: "/tmp/example.sqlite",
                    keychainService: "svc",
                    keychainAccount: "acct"
                )
                seen.append(options == expected ? "equal" : "\(options)")
                return queue
            }
        )
        try run(
            "status",
            "--db-path",
            "/tmp/example.sqlite",
            "--keychain-service",
            "svc",
            "--keychain-account",
            "acct",
            host: host
        )
        #expect(seen.text == "equal")
    }

    /// The connection waits as long for another program as the run waits for another run.
    @Test(arguments: [([], 30), (["--lock-timeout", "7"], 7)] as [([String], TimeInterval)])
    func hostGetsTheLockTimeout(_ options: [String], _ seconds: TimeInterval) throws {
        let seen = Lines()
        let host = MigrationCLIHost(
            runner: runner,
            openWriter: { [queue] options in
                seen.append("\(options.busyTimeout)")
                return queue
            }
        )
        for command in ["migrate", "rollback"] {
            try MigrationCLI.run(
                arguments: [command] + options,
                host: host,
                output: output.append
            )
        }
        #expect(seen.text == "\(seconds)\n\(seconds)")
    }

    @Test func hostGetsThePassword() throws {
        let seen = Lines()
        let host = MigrationCLIHost(
            runner: runner,
            openWriter: { [queue] options in
                seen.append(options.password ?? "none")
                return queue
            }
        )
        try run("status", "--password", "p", host: host)
        #expect(seen.text == "p")
        #expect(errorOutput.text.hasPrefix("warning: --password"))
    }

    @Test func passwordFileReachesTheHostAsASource() throws {
        let seen = Lines()
        let host = MigrationCLIHost(
            runner: runner,
            openWriter: { [queue] options in
                seen.append(options.keySource == .file(path: "/tmp/key") ? "file" : "other")
                return queue
            }
        )
        try run("status", "--password-file", "/tmp/key", host: host)
        #expect(seen.text == "file")
    }

    @Test(arguments: ["status", "migrate", "verify", "rollback"])
    func databaseOptionsArePassedToHostOpenWriter(_ command: String) throws {
        let seen = Lines()
        let host = MigrationCLIHost(
            runner: runner,
            openWriter: { [queue] options in
                #expect(options.dbPath == "/tmp/example.sqlite")
                #expect(options.password == "secret")
                #expect(options.keychainService == "svc")
                #expect(options.keychainAccount == "acct")
                if command == "status" {
                    let expected = MigrationDatabaseOpenOptions(
                        dbPath: "/tmp/example.sqlite",
                        password: "secret",
                        keychainService: "svc",
                        keychainAccount: "acct"
                    )
                    #expect(options == expected)
                }
                seen.append("opened")
                return queue
            }
        )
        let options = [
            "--db-path", "/tmp/example.sqlite", "--password", "secret", "--keychain-service", "svc",
            "--keychain-account", "acct",
        ]
        try MigrationCLI.run(
            arguments: [command] + options,
            host: host,
            output: output.append,
            errorOutput: errorOutput.append
        )
        #expect(seen.text == "opened")
    }

    @Test func passwordReachesTheHostBesideEveryOtherSource() throws {
        let seen = Lines()
        let host = MigrationCLIHost(
            runner: runner,
            openWriter: { [queue] options in
                #expect(options.password == "p")
                #expect(options.keychainAccount == "a")
                seen.append(options.otherKeySource.map { "\($0)" } ?? "none")
                return queue
            }
        )
        let named = ["status", "--password", "p", "--keychain-account", "a"]
        for (other, name) in [
            ([], "none"), (["--password-file", "/tmp/key"], "the file \"/tmp/key\""),
            (
                ["--password-command", "pass show", "--keychain-service", "s"],
                "the command \"pass\""
            ),
        ] {
            try MigrationCLI.run(
                arguments: named + other,
                host: host,
                output: { _ in },
                errorOutput: { _ in }
            )
            #expect(seen.text.split(separator: "\n").last.map(String.init) == name)
        }
        // Of these there is one place for all.
        #expect(
            throws: MigrationCLIError.severalKeySources(["--password-file", "--password-fd"])
        ) {
            try run("status", "--password-file", "/tmp/key", "--password-fd", "3", host: host)
        }
    }

    @Test func openDatabaseAndKeyRefuseTwoSources() throws {
        let opening = MigrationCLIHost(runner: runner, openWriter: MigrationCLIHost.openDatabase)
        let reading = MigrationCLIHost(
            runner: runner,
            openWriter: { [queue] options in
                _ = try options.key()
                return queue
            }
        )
        for host in [opening, reading] {
            #expect(
                throws: MigrationCLIError.severalKeySources(["--password", "--keychain-service"])
            ) {
                try run(
                    "status",
                    "--db-path",
                    "a",
                    "--password",
                    "p",
                    "--keychain-service",
                    "s",
                    host: host
                )
            }
            #expect(throws: MigrationCLIError.accountWithoutService) {
                try run(
                    "status",
                    "--db-path",
                    "a",
                    "--password",
                    "p",
                    "--keychain-account",
                    "a",
                    host: host
                )
            }
        }
    }

    @Test func failingStepIsNamed() throws {
        struct Odd: Error {}
        let runner = try GRDBMigrationRunner(steps: [
            MigrationStep(identifier: "0001_ok", sourceFile: "") { _ in },
            MigrationStep(identifier: "0002_odd", sourceFile: "") { _ in throw Odd() },
        ])
        let host = MigrationCLIHost(runner: runner, openWriter: { [queue] _ in queue })
        let failure = #expect(throws: MigrationStepFailure.self) { try run("migrate", host: host) }
        #expect(failure?.identifier == "0002_odd")
        #expect(failure?.committed == 1)
        #expect(failure?.underlying is Odd)
        #expect(MigrationCLI.exitCode(for: try #require(failure)) == 1)
    }

    @Test func anErrorOfACommandHasACodeATextAndAdvice() throws {
        try run("migrate")
        let error = try #require(
            #expect(throws: CommandError.self) { try run("verify", "--require-index", "item.none") }
        )
        #expect(error.code.name == "verificationFailed")
        #expect(error.localizedDescription == "verification failed: required_index item.none")
        #expect(error.recoverySuggestion?.hasPrefix("The report on standard output") == true)
        #expect(MigrationCLI.exitCode(for: error) == 2)
    }

    @Test func schemaDumpNeedsASnapshotProvider() throws {
        #expect(throws: MigrationCLIError.schemaSnapshotNotConfigured) { try run("schema-dump") }
    }

    @Test func schemaDumpPrintsWhatTheHostMakes() throws {
        struct Fixed: SchemaSnapshotProvider {
            func generateCanonicalSnapshot() throws -> String { "CREATE TABLE fixed (id);\n" }
        }
        let open: MigrationCLIHost.OpenWriter = { [queue] _ in queue }
        for host in [
            MigrationCLIHost(runner: runner, openWriter: open, schemaSnapshotProvider: Fixed()),
            MigrationCLIHost(
                runner: runner,
                openWriter: open,
                generateSchemaSnapshot: { try Fixed().generateCanonicalSnapshot() }
            ),
        ] {
            try run("schema-dump", host: host)
        }
        #expect(output.text == "CREATE TABLE fixed (id);\nCREATE TABLE fixed (id);")
    }
}

/// Dumps of the schema of a program with steps of its own.
@Suite final class EmbeddedSchemaTests {
    let runner: GRDBMigrationRunner
    let folder: URL
    let output = Lines()

    init() throws {
        runner = try GRDBMigrationRunner(steps: [
            MigrationStep(identifier: "0001_items", sourceFile: "M0001.swift") {
                try $0.execute(sql: "CREATE TABLE item (id TEXT DEFAULT (uuid()))")
            }
        ])
        folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("mk-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    private func run(_ arguments: [String], open: @escaping MigrationCLIHost.OpenWriter) throws {
        try MigrationCLI.run(
            arguments: arguments,
            host: MigrationCLIHost(runner: runner, openWriter: open),
            output: output.append,
            errorOutput: { _ in }
        )
    }

    private var load: [String] {
        ["schema-load", folder.path + "/schema.sql", "--db-path", folder.path + "/new.db"]
    }

    private func writeDump() throws {
        let dump = """
            CREATE TABLE item (id TEXT);
            CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
            INSERT INTO grdb_migrations VALUES ('0001_items');
            """
        try Data(dump.utf8).write(to: folder.appendingPathComponent("schema.sql"))
    }

    @Test func diagramsAreOfTheHostsSteps() throws {
        for format in ["json", "mermaid", "dot"] {
            try run(["schema-dump", "--format", format], open: { _ in try DatabaseQueue() })
        }
        #expect(output.text.contains("\"0001_items\""))
        #expect(output.text.contains("erDiagram\n    item {\n        TEXT id\n    }"))
        #expect(output.text.contains("digraph schema {"))
    }

    @Test func aHostsPoolLosesNothingOfItsLog() throws {
        try writeDump()
        try run(load) { options in try DatabasePool(path: options.dbPath ?? "") }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names.sorted() == ["new.db", "schema.sql"])
        let database = try DatabaseQueue(path: folder.path + "/new.db")
        #expect(try !runner.hasPendingMigrations(in: database))
        #expect(try database.read { try $0.tableExists("item") })
    }

    @Test func aHostThatOpensAnotherFileIsFoundOut() throws {
        try writeDump()
        let other = try DatabaseQueue()
        let error = try #require(throws: (any Error).self) { try run(load) { _ in other } }
        #expect(MigrationCLI.exitCode(for: error) == 73)
        #expect(try other.read { try $0.tableExists("item") } == false)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names == ["schema.sql"])
    }
}

/// Collects lines.
final class Lines: @unchecked Sendable {
    // `@unchecked`: every access holds the lock.
    private let lock = NSLock()
    private var lines: [String] = []

    @Sendable func append(_ line: String) {
        lock.withLock { lines.append(line) }
    }

    var text: String {
        lock.withLock { lines.joined(separator: "\n") }
    }
}
