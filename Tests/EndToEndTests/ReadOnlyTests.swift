import Foundation
import TestSupport
import Testing

/// A database that can be read and not written: for its mode, its folder's, or its medium. What
/// changes nothing works on it, and leaves nothing beside it.
@Suite struct ReadOnlyTests {
    private let tool: Tool

    /// Why the database can't be written.
    enum Obstacle: String, CaseIterable {
        case mode, folder, medium
    }

    enum Journal: String, CaseIterable {
        case rollback, wal
        /// A log with commits, without the shared memory: as a copy of both files has it.
        case filledLog
        /// The same, with the shared memory that a killed program has left.
        case filledLogWithMemory
    }

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.writeItems()
        try tool.folder.makeFolder("closed")
    }

    private var store: String { tool.folder.path("closed/store.db") }
    private var opening: [String] {
        ["--db-path", store, "--password-file", tool.folder.path("password"), "--raw-key"]
    }

    /// Runs a command without root's right to write everywhere; on a read-only medium, in a mount
    /// namespace of its own.
    private func run(_ command: [String], _ obstacle: Obstacle) throws -> ProcessResult {
        let words = [try builtExecutable("migrationkit-cli")] + command
        let asOwner = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
        let closed = tool.folder.path("closed")
        let mounted = [
            "unshare", "--mount", "sh", "-c",
            "mount --bind $0 $0 && mount -o remount,bind,ro $0 && exec \"$@\"", closed,
        ]
        let prefix =
            switch obstacle {
            case .medium: mounted
            case .mode, .folder: geteuid() == 0 ? asOwner : []
            }
        let all = prefix + words
        return try TestSupport.run(
            all[0],
            Array(all.dropFirst()),
            environment: tool.environment,
            newSession: true
        )
    }

    /// Makes the store with migrations up to one of them, and a change in its log.
    private func make(
        _ journal: Journal,
        isEncrypted: Bool,
        target: String,
        change: String = "INSERT INTO item VALUES (2);"
    ) throws {
        let work = tool.folder.path("work.db")
        let key = isEncrypted ? "x'\(tool.password)'" : nil
        let opening =
            isEncrypted
            ? ["--password-file", tool.folder.path("password"), "--raw-key"] : ["--no-encryption"]
        let made = try tool.run(
            ["migrate", "--db-path", work, "--migrations", tool.migrations, "--to", target]
                + opening
        )
        #expect(made.status == 0, "\(made)")
        let names =
            switch journal {
            case .rollback, .wal: [""]
            case .filledLog: ["", "-wal"]
            case .filledLogWithMemory: ["", "-wal", "-shm"]
            }
        let copies = names.map { "cp \(work)\($0) \(store)\($0)" }.joined(separator: " && ")
        let script =
            journal == .rollback
            ? ".shell \(copies)"
            : """
            PRAGMA journal_mode = WAL;
            PRAGMA wal_autocheckpoint = 0;
            \(change)
            \(journal == .wal ? "PRAGMA wal_checkpoint(TRUNCATE);" : "")
            .shell \(copies)
            """
        _ = try SQLCipherShell.run(work, key: key, script)
        for suffix in ["", "-wal", "-shm"] { unlink(work + suffix) }
        #expect(try tool.folder.names == ["closed", "migrations", "password"])
    }

    /// Takes the right to write, and gives it back after the body.
    private func closed(_ obstacle: Obstacle, _ body: () throws -> Void) throws {
        let closed = tool.folder.path("closed")
        let files = try FileManager.default.contentsOfDirectory(atPath: closed)
        switch obstacle {
        case .mode: for file in files { #expect(chmod("\(closed)/\(file)", 0o400) == 0) }
        case .folder: #expect(chmod(closed, 0o500) == 0)
        case .medium: break
        }
        defer {
            chmod(closed, 0o700)
            for file in files { chmod("\(closed)/\(file)", 0o600) }
        }
        let before = try unchangeable()
        try body()
        #expect(try unchangeable() == before)
    }

    /// Everything but what is in the shared memory, by which SQLite reads beside others.
    private func unchangeable() throws -> [String: FolderSnapshot.Entry] {
        try tool.folder.snapshot().entries.filter { !$0.key.hasSuffix("-shm") }
    }

    @Test(arguments: Obstacle.allCases, Journal.allCases)
    func whatChangesNothingWorks(_ obstacle: Obstacle, _ journal: Journal) throws {
        guard obstacle != .medium || geteuid() == 0 else { return }
        for isEncrypted in [true, false] {
            try make(journal, isEncrypted: isEncrypted, target: "0003_tags")
            let opening = isEncrypted ? opening : ["--db-path", store, "--no-encryption"]
            let migrations = ["--migrations", tool.migrations]
            try closed(obstacle) {
                for command in [
                    ["status", "--exit-code"], ["plan"], ["history"], ["verify"],
                    ["migrate", "--dry-run"], ["tables"], ["query", "SELECT * FROM item"],
                ] {
                    let hasNone = ["history", "tables", "query"].contains(command[0])
                    let result = try run(
                        command + opening + (hasNone ? [] : migrations),
                        obstacle
                    )
                    #expect(result.status == 0, "\(command) \(journal): \(result)")
                }
                let full = try run(["verify", "--full", "--json"] + opening + migrations, obstacle)
                let checks = try full.json()["checks"] as? [[String: Any]] ?? []
                let failed = checks.filter { $0["ok"] as? Bool == false }
                    .compactMap { $0["name"] as? String }
                // It says who may read a file that isn't encrypted.
                #expect(Set(failed).isSubset(of: ["file_modes"]), "\(journal): \(full)")
                #expect(checks.contains { $0["name"] as? String == "ledger" })
            }
            for suffix in ["", "-wal", "-shm"] { unlink(store + suffix) }
        }
    }

    /// Of a large file, two further connections read.
    @Test(arguments: [true, false])
    func verificationOfALargeFileLeavesNothing(_ isEncrypted: Bool) throws {
        try make(
            .wal,
            isEncrypted: isEncrypted,
            target: "0003_tags",
            change: """
                CREATE TABLE large (a);
                INSERT INTO large WITH RECURSIVE n (i) AS
                (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000) SELECT randomblob(1000) FROM n;
                """
        )
        let opening = isEncrypted ? opening : ["--db-path", store, "--no-encryption"]
        try closed(.mode) {
            let result = try run(
                ["verify", "--migrations", tool.migrations, "--ignore-table", "large"] + opening,
                .mode
            )
            #expect(result.status == 0, "\(result)")
        }
        let names = try FileManager.default.contentsOfDirectory(
            atPath: tool.folder.path("closed")
        )
        #expect(names == ["store.db"])
    }

    @Test(arguments: [Journal.filledLog, .filledLogWithMemory], [true, false])
    func theLogIsReadAsWell(_ journal: Journal, _ isEncrypted: Bool) throws {
        try make(
            journal,
            isEncrypted: isEncrypted,
            target: "0003_tags",
            change: "DELETE FROM grdb_migrations WHERE identifier = '0003_tags';"
        )
        let opening = isEncrypted ? opening : ["--db-path", store, "--no-encryption"]
        try closed(.folder) {
            let command = ["status", "--json", "--migrations", tool.migrations] + opening
            let result = try run(command, .folder)
            #expect(result.status == 0, "\(result)")
            #expect(try result.json()["pending"] as? [String] == ["0003_tags"])
        }
    }

    @Test(arguments: Obstacle.allCases)
    func aDryRunOfPendingMigrationsSaysThatItWrites(_ obstacle: Obstacle) throws {
        guard obstacle != .medium || geteuid() == 0 else { return }
        try make(.wal, isEncrypted: true, target: "0002_row")
        try closed(obstacle) {
            let command = ["migrate", "--dry-run", "--migrations", tool.migrations] + opening
            let result = try run(command, obstacle)
            #expect(result.status == 77, "\(result)")
            #expect(
                result.stderr.hasPrefix(
                    "error: \(store) can't be written, so a dry run is not possible\n"
                )
            )
            #expect(result.stderr.contains("'plan' only shows them."))
            let rehearse = ["rehearse", "--migrations", tool.migrations, "--in", tool.folder.path]
            let rehearsed = try run(rehearse + opening, obstacle)
            #expect(rehearsed.status == 77, "\(rehearsed)")
            #expect(
                rehearsed.stderr.hasPrefix(
                    "error: \(store) can't be written, so 'migrate' would refuse it\n"
                )
            )
            let plan = try run(["plan", "--migrations", tool.migrations] + opening, obstacle)
            #expect(plan.status == 0, "\(plan)")
            #expect(plan.stdout.contains("0003_tags"))
        }
    }

    @Test func whatIsWrongIsStillToldApart() throws {
        try make(.wal, isEncrypted: true, target: "0003_tags")
        try tool.folder.write("other", ToolFolder.randomDigits(count: 64).utf8)
        try closed(.folder) {
            let status = ["status", "--migrations", tool.migrations, "--json", "--db-path", store]
            let other = ["--raw-key", "--password-file", tool.folder.path("other")]
            let wrong = try run(status + other, .folder).jsonError()
            #expect(wrong["code"] as? String == "wrongKey")
            let keyless = try run(status + ["--no-encryption"], .folder).jsonError()
            #expect(keyless["code"] as? String == "encrypted")
        }
        var bytes = try tool.folder.data("closed/store.db")
        bytes[4096 + 2000] ^= 1
        try tool.folder.write("closed/store.db", bytes)
        try closed(.folder) {
            let result = try run(
                ["verify", "--full", "--json", "--migrations", tool.migrations] + opening,
                .folder
            )
            #expect(result.status == 2, "\(result)")
            let checks = try result.json()["checks"] as? [[String: Any]] ?? []
            let pages = checks.first { $0["name"] as? String == "cipher_integrity_check" }
            #expect(pages?["detail"] as? String == "1 page is damaged")
        }
    }
}
