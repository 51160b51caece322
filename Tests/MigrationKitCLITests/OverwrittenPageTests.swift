import Foundation
import TestSupport
import Testing

/// A store with a page that was overwritten, which no migration reads: the check before the commit
/// finds it.
@Suite struct OverwrittenPageTests {
    private let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.write(
            "0001_t",
            up: """
                CREATE TABLE t (a);
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
                INSERT INTO t SELECT hex(randomblob(20)) FROM n;
                """
        )
        try tool.write("0002_u", up: "CREATE TABLE u (a);", down: "DROP TABLE u;")
        #expect(try tool.onStore("migrate").status == 0)
    }

    private func overwritePage(_ number: Int) throws {
        var data = try tool.folder.data("store.db")
        let start = (number - 1) * 4096
        data.replaceSubrange(
            start..<start + 4096,
            with: (0..<4096).map { _ in UInt8.random(in: .min ... .max) }
        )
        try tool.folder.write("store.db", data)
    }

    private func expectDamage(
        _ result: ProcessResult,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(result.status == 74, "\(result)", sourceLocation: sourceLocation)
        let words = result.stderr.split { " \n".contains($0) }.joined(separator: " ")
        #expect(
            words.contains("was rolled back: nothing has changed."),
            "\(result)",
            sourceLocation: sourceLocation
        )
    }

    @Test func itIsDamageAndNothingHasChanged() throws {
        try overwritePage(10)
        try expectDamage(tool.onStore("rollback"))
        try tool.write("0003_zz", up: "CREATE TABLE zz (a);")
        for options in [[], ["--all-or-nothing"], ["--dry-run"]] {
            try expectDamage(
                tool.run(["migrate"] + tool.opening + ["--migrations", tool.migrations] + options)
            )
        }
        let error = try tool.onStore("migrate", "--json").jsonError()
        #expect(error["code"] as? String == "damaged")
        #expect(try tool.shell("SELECT name FROM sqlite_schema WHERE name = 'zz';") == "")

        try tool.folder.write("store.db.key", tool.password.utf8)
        for command in ["migrate", "rollback"] {
            let result = try tool.run(
                ["fleet", command, "--stores", tool.database, "--key-file-suffix", ".key"]
                    + ["--raw-key", "--json", "--migrations", tool.migrations]
                    + (command == "rollback" ? ["--to", "0001", "--yes"] : [])
            )
            #expect(result.stdout.contains("\"damaged\""), "\(result)")
        }
    }
}
