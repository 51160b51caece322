import Foundation
import TestSupport
import Testing

/// Files that can't be opened as a database, or not by this user.
@Suite struct InspectTests {
    private let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.writeItems()
    }

    /// Neither encrypted nor not: shorter than a page, or no number of pages.
    @Test(arguments: [1, 16, 511, 5000])
    func whatCannotBeADatabaseIsToldAsThat(_ size: Int) throws {
        let magic = Array("SQLite format 3\0".utf8)
        let bytes = (0..<size).map { UInt8($0 * 7 % 251) }
        let plain = ["--db-path", tool.database, "--no-encryption"]
        for isPlain in [false, true] where !isPlain || size >= 16 {
            try tool.folder.write("store.db", isPlain ? magic + bytes.dropFirst(16) : bytes)
            let before = try tool.folder.snapshot().entries.filter { $0.key != "." }
            let commands =
                isPlain
                ? [["status"] + plain, ["encrypt"] + tool.opening]
                : [
                    ["inspect"] + tool.opening, ["verify", "--full"] + tool.opening,
                    ["rekey", "--new-password-fd", "0"] + tool.opening, ["status"] + plain,
                    ["encrypt"] + tool.opening,
                    ["backup", "--output", tool.folder.path("b.db")] + tool.opening,
                ]
            for command in commands {
                let hasFolder = command[0] == "status" || command[0] == "verify"
                let result = try tool.run(
                    command + ["--json"] + (hasFolder ? ["--migrations", tool.migrations] : []),
                    input: "another key"
                )
                let code = try result.jsonError()["code"] as? String
                if isPlain {
                    #expect([66, 74].contains(result.status), "\(command): \(result)")
                } else {
                    #expect(result.status == 66, "\(command): \(result)")
                    #expect(code == "notADatabase", "\(command)")
                }
            }
            let after = try tool.folder.snapshot().entries.filter { $0.key != "." }
            #expect(after == before, "\(size)")
        }
    }

    /// Root may do everything, so the part of another user is played by another user.
    @Test(.enabled(if: geteuid() == 0)) func anotherUserMayLookOnlyWhereTheModeSaysSo() throws {
        _ = try SQLCipherShell.run(
            tool.database,
            key: nil,
            "PRAGMA journal_mode = WAL; CREATE TABLE t(a);"
        )
        // A log with a transaction in it, as a program leaves it that was killed.
        let left = try TestSupport.run(
            "sqlcipher",
            ["-batch", tool.database],
            input: ".dbconfig no_ckpt_on_close on\nPRAGMA user_version = 5;\n".utf8
        )
        try #require(left.status == 0)
        try FileManager.default.removeItem(atPath: tool.database + "-shm")
        chmod(tool.folder.path, 0o755)
        chmod(tool.database + "-wal", 0o644)
        chmod(tool.database, 0o644)
        let executable = try tool.folder.copyOfTool()
        let before = try tool.folder.snapshot()
        let words = [
            "--reuid=65534", "--regid=65534", "--clear-groups",
            executable, "inspect", "--json", tool.database,
        ]
        let mayRead = try TestSupport.run("setpriv", words)
        try #require(!mayRead.stderr.contains("failed to execute"))
        #expect(mayRead.status == 0, "\(mayRead)")
        #expect(try mayRead.json()["owner"] as? String == "root")
        #expect(try mayRead.json()["journalMode"] as? String == "wal")
        #expect(try mayRead.json()["userVersion"] as? Int == 5)
        #expect(try tool.folder.snapshot() == before)
        chmod(tool.database, 0o600)
        let mayNot = try TestSupport.run("setpriv", words)
        #expect(mayNot.status == 77, "\(mayNot)")
    }

    /// What became of a file is told from its damaged pages.
    @Test func aTailOfZerosAndOneOfAnotherKeyAreToldApart() throws {
        #expect(try tool.onStore("migrate").status == 0)
        let size = 4096
        _ = try SQLCipherShell.run(
            tool.database,
            key: tool.shellKey,
            "CREATE TABLE filler (a); INSERT INTO filler VALUES (zeroblob(40000));"
        )
        let whole = try tool.folder.data("store.db")
        let count = whole.count / size
        _ = try SQLCipherShell.run(
            tool.database,
            key: tool.shellKey,
            "PRAGMA rekey = 'another key';"
        )
        let rekeyed = try tool.folder.data("store.db")
        let inspect = ["inspect"] + tool.opening

        try tool.folder.write("store.db", whole.prefix(5 * size) + rekeyed.dropFirst(5 * size))
        let two = try tool.run(inspect)
        #expect(two.status == 74)
        #expect(two.stdout.contains("pages 6 to \(count) may have another key"), "\(two)")

        try tool.folder.write(
            "store.db",
            whole.prefix(5 * size) + Data(count: whole.count - 5 * size)
        )
        let zeros = try tool.run(inspect)
        #expect(zeros.stdout.contains("zeros: pages 6 to \(count), never written"), "\(zeros)")
        #expect(!zeros.stdout.contains("another key"))

        try tool.folder.write("store.db", whole + Data(count: 3 * size))
        let behind = try tool.run(inspect)
        let pages = "pages \(count + 1) to \(count + 3)"
        #expect(behind.stdout.contains("SQLite doesn't read \(pages)"), "\(behind)")
        let damage = try #require(
            try tool.run(inspect + ["--json"]).json()["damage"] as? [String: Any]
        )
        #expect(damage["zeroPages"] as? [Int] == Array(count + 1...count + 3))
    }
}
