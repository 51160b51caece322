import Foundation
import TestSupport
import Testing

/// Disks that fail, and file systems that lack something: `strace` has system calls fail.
@Suite struct FaultyDiskTests {
    private let tool: Tool
    private let newKey: String
    private var output: String { tool.folder.path("new.db") }

    init() throws {
        tool = try Tool(isRawKey: true)
        newKey = ToolFolder.randomDigits(count: 64)
        try tool.folder.write("new", newKey.utf8)
        _ = try tool.shell("CREATE TABLE t (a); INSERT INTO t VALUES ('zettel');")
    }

    private func run(failing call: String, _ arguments: [String]) throws -> ProcessResult {
        try TestSupport.run(
            "strace",
            ["-f", "-qq", "-o", tool.folder.path("migrations/trace"), "-e", "inject=\(call)"]
                + [builtExecutable("migrationkit-cli")] + arguments,
            environment: tool.environment,
            newSession: true
        )
    }

    private func opens(_ path: String, _ key: String) -> Bool {
        // The shell makes a file where there is none.
        access(path, F_OK) == 0
            && (try? SQLCipherShell.run(path, key: "x'\(key)'", "SELECT a FROM t;")) == "zettel"
    }

    // MARK: - Reading

    /// What the disk doesn't give once, the checks of SQLite and SQLCipher list among the damage.
    @Test func aCopyThatCannotBeReadBackIsNotCalledDamaged() throws {
        _ = try tool.shell(
            """
            INSERT INTO t WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 400)
            SELECT randomblob(900) FROM n;
            """
        )
        var readErrors = 0
        for ordinal in stride(from: 8, through: 34, by: 2) {
            let result = try run(
                failing: "pread64:error=EIO:when=\(ordinal)",
                ["backup", "--output", output, "--json"] + tool.opening
            )
            unlink(output)
            guard result.status != 0 else { continue }
            let error = try result.jsonError()
            let message = error["message"] as? String ?? ""
            #expect(!message.contains("error code="), "\(ordinal)")
            #expect(!message.contains("error reading"), "\(ordinal)")
            readErrors += error["code"] as? String == "inputOutput" ? 1 : 0
        }
        #expect(readErrors > 2)
    }

    // MARK: - Synchronizing

    /// What is synchronized, in order.
    enum Place: CaseIterable {
        case newFile, original, folderBefore, folderAfter
    }

    private func rekey(failingAt ordinal: Int, _ more: [String]) throws -> ProcessResult {
        try run(
            failing: "fsync:error=EIO:when=\(ordinal)",
            ["rekey"] + tool.opening
                + ["--new-password-file", tool.folder.path("new"), "--new-raw-key", "--json"] + more
        )
    }

    @Test(arguments: Place.allCases)
    func failureIsToldByWhetherTheNewFileIsInPlace(_ place: Place) throws {
        let ordinal = try #require(Place.allCases.firstIndex(of: place)) + 1
        let result = try rekey(failingAt: ordinal, ["--keep-original", output])
        #expect(result.status == 74, "\(result)")
        let code = try result.jsonError()["code"] as? String
        let isReplaced = place == .folderAfter
        #expect(code == (isReplaced ? "notSynced" : "inputOutput"), "\(result)")
        #expect(opens(tool.database, newKey) == isReplaced)
        #expect(opens(tool.database, tool.password) == !isReplaced)
        #expect(opens(output, tool.password) == isReplaced)
        #expect(
            try tool.folder.names
                == ["migrations", "new"] + (isReplaced ? ["new.db"] : []) + [
                    "password", "store.db",
                ]
        )
    }

    @Test func outputThatIsNotSynchronizedIsThere() throws {
        let result = try rekey(failingAt: 2, ["--output", output])
        #expect(result.status == 74, "\(result)")
        #expect(try result.jsonError()["code"] as? String == "notSynced")
        #expect(opens(output, newKey))
        #expect(opens(tool.database, tool.password))
    }

    @Test func rotationGoesOnWhenTheDiskIsWellAgain() throws {
        let database = try RotatedDatabase()
        let inject = ["-e", "trace=fsync", "-e", "inject=fsync:error=EIO:when=3"]
        let result = try database.run(database.rotation, under: inject)
        #expect(result.status == 69, "\(result)")
        #expect(result.stderr.contains("has its new key, but the key's item could not be changed"))
        #expect(result.stderr.contains("can't be synchronized: input/output error"))
        // Whichever of the files is there after a loss of power, one of the items opens it.
        #expect(try database.key() == database.tool.password)
        #expect(try database.items(of: RotatedDatabase.pendingService).count == 1)
        #expect(try database.launch().status == 0)
        #expect(try database.key() != database.tool.password)
        try database.expectSettled()
    }

    // MARK: - File Systems without Links

    private static let noLinks = "link,linkat:error=EPERM"

    @Test(arguments: ["--output", "--keep-original"])
    func conversionNeedsNoLinks(_ option: String) throws {
        let result = try run(
            failing: Self.noLinks,
            ["rekey"] + tool.opening
                + ["--new-password-file", tool.folder.path("new"), "--new-raw-key", option, output]
        )
        #expect(result.status == 0, "\(result)")
        #expect(opens(output, option == "--output" ? newKey : tool.password))
        #expect(opens(tool.database, option == "--output" ? tool.password : newKey))
        #expect(
            try tool.folder.names == ["migrations", "new", "new.db", "password", "store.db"]
        )
    }

    @Test func nothingIsLeftWhereTheFileCanNotBeRenamedEither() throws {
        let result = try run(
            failing: "link,linkat,rename:error=EPERM",
            ["backup"] + tool.opening + ["--output", output, "--json"]
        )
        #expect(result.status == 73, "\(result)")
        #expect(try tool.folder.names == ["migrations", "new", "password", "store.db"])
    }

    @Test func schemaIsLoadedWithoutLinks() throws {
        try tool.folder.write("migrations/0001_t.sql", "CREATE TABLE t (a);\n".utf8)
        let dumped = try tool.run(
            "schema-dump",
            "--migrations",
            tool.migrations,
            "--output",
            tool.folder.path("schema.sql")
        )
        #expect(dumped.status == 0, "\(dumped)")
        let result = try run(
            failing: Self.noLinks,
            [
                "schema-load", "--db-path", output, "--migrations", tool.migrations,
                "--password-file", tool.folder.path("password"), "--raw-key",
                tool.folder.path("schema.sql"),
            ]
        )
        #expect(result.status == 0, "\(result)")
        let schema = "SELECT count(*) FROM sqlite_schema WHERE name = 't';"
        #expect(try SQLCipherShell.run(output, key: "x'\(tool.password)'", schema) == "1")
        #expect(try !tool.folder.names.contains { $0.contains("-writing-") })
    }
}
