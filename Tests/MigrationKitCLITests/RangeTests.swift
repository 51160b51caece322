import Foundation
import TestSupport
import Testing

/// How far a command goes, and what it would do.
@Suite struct RangeTests {
    let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.writeItems()
    }

    private func pending() throws -> [String]? {
        try tool.onStore("status", "--json").json()["pending"] as? [String]
    }

    @Test func stepsLimitAMigration() throws {
        #expect(try tool.onStore("migrate", "--steps", "2").status == 0)
        #expect(try pending() == ["0003_tags"])
        let tried = try tool.onStore("migrate", "--dry-run", "--steps", "0")
        #expect(tried.stdout == "Nothing to apply.\n")
        let both = try tool.onStore("migrate", "--steps", "1", "--to", "0003")
        #expect(both.status == 64)
        let negative = try tool.onStore("migrate", "--steps=-1", "--json")
        #expect(try negative.jsonError()["code"] as? String == "negativeSteps")
    }

    @Test func identifiersMayBeAbbreviated() throws {
        #expect(try tool.onStore("migrate", "--to", "0002").status == 0)
        #expect(try pending() == ["0003_tags"])
        #expect(try tool.onStore("rollback", "--to", "0001_i").status == 0)
        #expect(try pending() == ["0002_row", "0003_tags"])
    }

    @Test func abbreviationOfSeveralIsRefusedAndTheyAreNamed() throws {
        let refused = try tool.onStore("migrate", "--to", "000")
        #expect(refused.status == 64)
        #expect(refused.stderr.contains("0001_items"))
        #expect(refused.stderr.contains("0003_tags"))
        #expect(!FileManager.default.fileExists(atPath: tool.database))
    }

    @Test func numberIsMeantAsAWhole() throws {
        for number in 4...10 {
            try tool.write("\(number)_m", up: "CREATE TABLE m\(number) (id);")
        }
        try tool.write("100_m", up: "CREATE TABLE m100 (id);")
        #expect(try tool.onStore("migrate", "--to", "2").status == 0)
        #expect(try pending()?.first == "0003_tags")
        #expect(try tool.onStore("migrate", "--to", "10").status == 0)
        #expect(try pending() == ["100_m"])
    }

    @Test func mistypedIdentifierGetsTheNearest() throws {
        let refused = try tool.onStore("migrate", "--to", "0002_rwo")
        #expect(refused.status == 64)
        #expect(refused.stderr.contains("Did you mean '0002_row'?"))
        let far = try tool.onStore("migrate", "--to", "something else")
        #expect(far.status == 64)
        #expect(far.stderr.contains("'status' lists"))
    }

    @Test func rollbackGoesToAMigrationOrToTheBeginning() throws {
        #expect(try tool.onStore("migrate").status == 0)
        #expect(try tool.onStore("rollback", "--to", "0002").status == 0)
        #expect(try pending() == ["0003_tags"])
        let ahead = try tool.onStore("rollback", "--to", "0003", "--json")
        #expect(ahead.status == 64)
        #expect(try ahead.jsonError()["code"] as? String == "notApplied")
        #expect(try tool.onStore("rollback", "--to", "0001", "--all").status == 64)
        #expect(try tool.onStore("rollback", "--all").status == 0)
        #expect(try pending()?.count == 3)
    }

    @Test func redoTakesBackAndAppliesAgain() throws {
        #expect(try tool.onStore("migrate", "--to", "0002").status == 0)
        let document = try tool.onStore("redo", "--steps", "2", "--json").json()
        let names = { (key: String) in
            (document[key] as? [[String: Any]])?.compactMap { $0["identifier"] as? String }
        }
        #expect(names("rolledBack") == ["0002_row", "0001_items"])
        #expect(names("applied") == ["0001_items", "0002_row"])
        #expect(document["pending"] as? [String] == ["0003_tags"])
    }

    @Test func redoThatFailsSaysWhereTheDatabaseIs() throws {
        #expect(try tool.onStore("migrate", "--to", "0002").status == 0)
        // It was taken back as it should be, and can't be applied any more: a row is in the way.
        try tool.write(
            "0002_row",
            up: "INSERT INTO item VALUES (1);",
            down: "DELETE FROM item; DROP TABLE item;"
        )
        let failed = try tool.onStore("redo")
        #expect(failed.status == 1)
        #expect(failed.stderr.contains("the migration before it stays applied"))
        #expect(try pending() == ["0002_row", "0003_tags"])
    }

    // MARK: - What Would Run

    @Test func planShowsTheSQLInItsTransactions() throws {
        try tool.folder.write(
            "migrations/0004_compact.sql",
            "-- migrate:up transaction:false\nVACUUM;\n".utf8
        )
        #expect(try tool.onStore("migrate", "--to", "0002").status == 0)
        let before = try tool.folder.data("store.db")
        let plan = try tool.onStore("plan")
        #expect(plan.status == 0)
        #expect(
            plan.stdout == """
                -- 2 migrations pending

                -- 0003_tags (0003_tags.sql)
                BEGIN IMMEDIATE;
                CREATE TABLE tag (id INTEGER);
                -- foreign keys checked
                COMMIT;

                -- 0004_compact (0004_compact.sql)
                -- outside of a transaction
                VACUUM;
                -- database verified

                -- 'lint' finds what would lose data or fail in them.

                """
        )
        let document = try tool.onStore("plan", "--json").json()
        let steps = try #require(document["migrations"] as? [[String: Any]])
        #expect(steps.map { $0["usesTransaction"] as? Bool } == [true, false])
        #expect(
            steps.map { $0["sql"] as? String } == ["CREATE TABLE tag (id INTEGER);", "VACUUM;"]
        )
        #expect(try tool.onStore("plan", "--all-or-nothing").status == 65)
        #expect(try tool.folder.data("store.db") == before)
    }

    @Test func planOfOneTransactionHasOneBorder() throws {
        #expect(try tool.onStore("migrate", "--to", "0001").status == 0)
        let plan = try tool.onStore("plan", "--all-or-nothing").stdout
        #expect(plan.components(separatedBy: "BEGIN IMMEDIATE;").count == 2)
        #expect(plan.contains("-- database verified\n\nCOMMIT;\n\n-- 'lint' "))
    }

    @Test(arguments: ["plan", "status"])
    func exitCodeTellsWhetherSomethingIsPending(_ command: String) throws {
        #expect(try tool.onStore("migrate", "--to", "0002").status == 0)
        #expect(try tool.onStore(command).status == 0)
        let pending = try tool.onStore(command, "--exit-code")
        #expect(pending.status == 3)
        #expect(pending.stdout.contains("0003_tags"))
        #expect(pending.stderr.hasPrefix("error: 1 migration is pending\n"))
        #expect(try tool.onStore("migrate").status == 0)
        #expect(try tool.onStore(command, "--exit-code").status == 0)
    }

    // MARK: - A New Migration

    @Test func createdMigrationIsTheNextAndWaitsForItsSQL() throws {
        let created = try tool.run("create", "add colours", "--migrations", tool.migrations)
        #expect(created.status == 0)
        #expect(created.stdout.hasPrefix("Created \(tool.migrations)/0004_add_colours.sql\n"))
        let refused = try tool.onStore("migrate")
        #expect(refused.status == 65)
        #expect(
            refused.stderr.contains("0004_add_colours.sql:1:1: this migration is a draft")
        )
        try tool.write("0004_add_colours", up: "CREATE TABLE colour (id);")
        #expect(try tool.onStore("migrate").status == 0)
        let pair = try tool.run("create", "sign.up", "--migrations", tool.migrations)
        #expect(pair.status == 64)
        let taken = try tool.run(
            ["create", "a/b", "--migrations", tool.migrations, "--json"]
        )
        #expect(taken.status == 64)
        #expect(try taken.jsonError()["code"] as? String == "unusableName")
    }
}
