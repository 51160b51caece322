import Foundation
import TestSupport
import Testing

/// `lint` in a project's folder: the paths that it prints, and what it compares with in git.
@Suite struct LintTests {
    let settings: SettingsFolder
    var tool: Tool { settings.tool }

    init() throws {
        settings = try SettingsFolder()
    }

    func lint(_ arguments: String...) throws -> ProcessResult {
        try settings.run(["lint"] + arguments)
    }

    /// The findings that `lint --json` prints, as `rule migration line`.
    func findings(_ arguments: String..., status: Int32? = nil) throws -> [String] {
        let result = try settings.run(["lint", "--json"] + arguments)
        if let status { #expect(result.status == status, "\(result)") }
        let findings = try #require(try result.json()["findings"] as? [[String: Any]])
        return findings.map {
            "\($0["rule"] ?? "") \($0["migration"] ?? "") \($0["line"] ?? "")"
        }
    }

    private func checked(_ arguments: String...) throws -> Int? {
        try settings.run(["lint", "--json"] + arguments).json()["checked"] as? Int
    }

    // MARK: - Refused Statements

    @Test(arguments: ["human", "json", "sarif", "github"])
    func statementsThatNoMigrationMayHaveAreFindings(_ format: String) throws {
        try tool.write("0004_a", up: "SELECT 1;\n  VACUUM;", down: "COMMIT;")
        try tool.write("0005_b", up: "PRAGMA key = 'geheim';")
        let result = try lint("--format", format)
        #expect(result.status == 3, "\(result)")
        let places: [String] =
            switch format {
            case "human":
                [
                    "migrations/0004_a.sql:3:3: error: ", "[no-effect-in-transaction]",
                    "migrations/0004_a.sql:6:1: error: ", "  3 |   VACUUM;\n    |   ^\n",
                    "migrations/0005_b.sql:2:1: error: ", "[secret-in-migration]",
                ]
            case "json":
                [
                    #""file":"migrations/0004_a.sql""#, #""line":3"#,
                    #""rule":"secret-in-migration""#,
                ]
            case "sarif":
                [
                    #""uri":"migrations/0004_a.sql""#, #""startLine":6"#,
                    #""ruleId":"secret-in-migration""#,
                ]
            default:
                [
                    "::error file=migrations/0004_a.sql,line=3,col=3,title=no-effect-in-transaction",
                    "::error file=migrations/0005_b.sql,line=2,col=1,title=secret-in-migration",
                ]
            }
        for place in places { #expect(result.stdout.contains(place), "\(place)\n\(result)") }
        #expect(!(result.stdout + result.stderr).contains("geheim"))
    }

    // MARK: - Git

    func git(_ arguments: String...) throws {
        try settings.git(arguments)
    }

    func commit() throws {
        try git("add", "migrations")
        try git("commit", "--quiet", "--message", "x")
    }

    /// A repository whose branch `main` has the three migrations.
    func makeRepository() throws {
        try git("init", "--quiet")
        try commit()
    }

    @Test func onlyWhatIsNewOrDifferentIsCheckedWithBase() throws {
        try makeRepository()
        #expect(try checked("--base", "main") == 0)
        try tool.write("0004_more", up: "CREATE TABLE more (id INTEGER);")
        #expect(try checked("--base", "main") == 1)
        // An edit that leaves the SQL as it is.
        try tool.write(
            "0001_items",
            up: "-- Items.\nCREATE TABLE item (id INTEGER);",
            down: "DROP TABLE item;"
        )
        #expect(try checked("--base", "HEAD") == 2)
        #expect(try lint("--base", "main").status == 0)
    }

    @Test func aMigrationOfTheBaseMustNotChange() throws {
        try makeRepository()
        try tool.write("0002_row", up: "INSERT INTO item VALUES (2);", down: "DELETE FROM item;")
        #expect(
            try findings("--base", "main").contains { $0.hasPrefix("migration-changed 0002_row") }
        )
        #expect(try lint("--base", "main").status == 3)
        try FileManager.default.removeItem(atPath: tool.folder.path("migrations/0002_row.sql"))
        #expect(
            try findings("--base", "main").contains { $0.hasPrefix("migration-removed 0002_row") }
        )
        try commit()
        try tool.write("0002_other", up: "INSERT INTO item VALUES (2);")
        #expect(
            try findings("--base", "HEAD").contains {
                $0.hasPrefix("migration-inserted 0002_other")
            }
        )
    }

    /// What `main` has got since the branch left it isn't the branch's change.
    @Test func theBranchIsComparedWithWhereItBegan() throws {
        try makeRepository()
        try git("checkout", "--quiet", "-b", "feature")
        try git("checkout", "--quiet", "main")
        try tool.write("0004_theirs", up: "CREATE TABLE theirs (id INTEGER);")
        try tool.write("0003_tags", up: "CREATE TABLE tag (id INT);", down: "DROP TABLE tag;")
        try commit()
        try git("checkout", "--quiet", "feature")
        try tool.write("0005_ours", up: "CREATE TABLE ours (id INTEGER);")
        let findings = try findings("--base", "main")
        #expect(!findings.contains { $0.hasPrefix("migration-") }, "\(findings)")
        #expect(try checked("--base", "main") == 1)
    }

    @Test func migrationsInFoldersAreReadFromGit() throws {
        try tool.folder.makeFolder("diesel")
        for name in ["0001_a", "0002_b"] {
            try tool.folder.makeFolder("diesel/\(name)")
            try tool.folder.write(
                "diesel/\(name)/up.sql",
                "CREATE TABLE \(name.last ?? "a") (x);".utf8
            )
            try tool.folder.write("diesel/\(name)/metadata.toml", "run_in_transaction = false".utf8)
        }
        try git("init", "--quiet")
        try git("add", "diesel")
        try git("commit", "--quiet", "--message", "x")
        #expect(try checked("--base", "main", "--migrations", "diesel") == 0)
        try tool.folder.write("diesel/0002_b/up.sql", "CREATE TABLE c (x);".utf8)
        #expect(try checked("--base", "main", "--migrations", "diesel") == 1)
    }

    /// Git tells its hooks where the repository is, with a path that is relative to its top.
    @Test func baseWorksInAHookAndInASubfolder() throws {
        try makeRepository()
        var settings = settings
        settings.tool.environment["GIT_DIR"] = ".git"
        settings.tool.environment["GIT_INDEX_FILE"] = ".git/index"
        let result = try settings.run("lint", "--base", "HEAD", "--json")
        #expect(try result.json()["checked"] as? Int == 0)
        let inside = try TestSupport.run(
            "/usr/bin/env",
            [
                "-C", tool.migrations, builtExecutable("migrationkit-cli"), "lint", "--migrations",
                ".",
                "--base", "main", "--json",
            ],
            environment: tool.environment
        )
        #expect(try inside.json()["checked"] as? Int == 0)
    }

    @Test func aBaseThatIsUnusableIsToldAndEverythingChecked() throws {
        try tool.write("0004_tidy", up: "VACUUM;")
        try makeRepository()
        try FileManager.default.removeItem(atPath: tool.folder.path("migrations/0004_tidy.sql"))
        let result = try lint("--base", "main")
        #expect(result.status == 0, "\(result)")
        #expect(result.stderr.contains("note: nothing is compared with 'main', which is unusable"))
        #expect(result.stdout.contains("Checked 3 migrations"))
    }

    @Test func whatGitDoesntHaveIsAnError() throws {
        func error(_ arguments: String..., path: String? = nil) throws -> String {
            var settings = settings
            if let path { settings.tool.environment["PATH"] = path }
            let result = try TestSupport.run(
                "/usr/bin/env",
                ["-C", tool.folder.path, builtExecutable("migrationkit-cli"), "lint", "--json"]
                    + arguments,
                environment: settings.tool.environment
            )
            #expect(try result.json()["checked"] as? Int == 0)
            return "\(try result.jsonError()["code"] ?? "") \(result.status ?? -1)"
        }
        // The temporary folder is in no repository.
        #expect(try error("--base", "main") == "noRepository 66")
        #expect(try error("--base", "main", path: tool.folder.path) == "noGit 69")
        try git("init", "--quiet")
        #expect(try error("--base", "main") == "noSuchReference 66")
        try commit()
        #expect(try error("--base", "nothing") == "noSuchReference 66")
        #expect(try error("--base=--output=x") == "noSuchReference 66")
        #expect(try error("--base", "") == "noSuchReference 66")
        try tool.folder.makeFolder("new")
        try tool.folder.write("new/0001_a.sql", "SELECT 1;".utf8)
        #expect(try error("--base", "main", "--migrations", "new") == "noFolderInReference 66")
        try Data("x".utf8).write(to: URL(fileURLWithPath: tool.folder.path(".git/HEAD")))
        #expect(try error("--base", "main") == "noRepository 66")
    }
}
