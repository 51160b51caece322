import Foundation
import MigrationKitLint
import MigrationKitSQL
import TestSupport
import Testing

@testable import MigrationKitCLI

/// The formats of `lint`, for findings of every kind.
@Suite struct LintOutputTests {
    private static let findings = [
        LintFinding(
            rule: .dropTable,
            migration: "0002_drop",
            file: "0002_drop.sql",
            line: 3,
            column: 5,
            message: "dropping 'notes' deletes its rows",
            fix: "Copy the rows first:\n  INSERT INTO archive SELECT * FROM notes;"
        ),
        LintFinding(
            rule: .cascadeDeletes,
            migration: "0003_swift",
            file: "Sources/App/My Migrations.swift",
            message: "100% of 'tags', and more: all\nof them"
        ),
        LintFinding(rule: .tableNotStrict, migration: "0004_odd", message: "a table isn't STRICT"),
    ]

    /// The command that a finding names works wherever the tool is: without a folder of migrations,
    /// a database, or this project's sources.
    @Test(arguments: LintRule.allCases)
    func everyRuleIsExplained(rule: LintRule) throws {
        let result = ToolInProcess().run("lint", "--explain", rule.rawValue)
        #expect(result.status == 0, "\(result)")
        #expect(result.stdout.hasPrefix("# \(rule.rawValue)\n"))
        #expect(result.stdout.contains("## Example"))
        #expect(!result.stdout.contains(".md"))
    }

    private func output(
        _ findings: [LintFinding] = Self.findings,
        folder: MigrationFolder? = nil,
        threshold: LintLevel = .note
    ) -> LintOutput {
        LintOutput(
            LintResult(report: LintReport(findings: findings, checked: 4), folder: folder),
            threshold: threshold,
            version: "1.2.3",
            style: .plain
        )
    }

    @Test func peopleReadThePlaceTheFixAndThePage() throws {
        let text = try output().text(as: .human)
        #expect(
            text == """
                0002_drop.sql:3:5: warning: dropping 'notes' deletes its rows [drop-table]
                  Copy the rows first:
                    INSERT INTO archive SELECT * FROM notes;
                  See 'migrationkit-cli lint --explain drop-table'

                Sources/App/My Migrations.swift: error: 0003_swift: 100% of 'tags', and more: \
                all\u{FFFD}of them [cascade-deletes]
                  See 'migrationkit-cli lint --explain cascade-deletes'

                0004_odd: note: a table isn't STRICT [table-not-strict]
                  See 'migrationkit-cli lint --explain table-not-strict'

                Checked 4 migrations: 1 error, 1 warning and 1 note.
                """
        )
    }

    @Test func notesAreOnlyCountedUnlessTheyAreAskedFor() throws {
        for format in [LintFormat.human, .github] {
            let text = try output(threshold: .warning).text(as: format)
            #expect(!text.contains("table-not-strict"))
            #expect(
                text.hasSuffix(
                    "Checked 4 migrations: 1 error, 1 warning and 1 note. --level note shows the note."
                )
            )
        }
        for format in [LintFormat.json, .sarif] {
            let text = try output(threshold: .warning).text(as: format)
            #expect(text.contains("a table isn't STRICT"))
        }
    }

    @Test func nothingIsSaidInOneLine() throws {
        #expect(try output([]).text(as: .human) == "Checked 4 migrations: no findings.")
    }

    @Test func annotationsAreEscapedAsGitHubReadsThem() throws {
        let lines = try output().text(as: .github).split(separator: "\n")
        #expect(
            lines[0] == """
                ::warning file=0002_drop.sql,line=3,col=5,title=drop-table (0002_drop)::\
                dropping 'notes' deletes its rows%0ACopy the rows first:%0A  \
                INSERT INTO archive SELECT * FROM notes;%0ASee 'migrationkit-cli lint --explain drop-table'
                """
        )
        #expect(
            lines[1] == """
                ::error file=Sources/App/My Migrations.swift,title=cascade-deletes (0003_swift)::\
                100%25 of 'tags', and more: all%0Aof them%0ASee \
                'migrationkit-cli lint --explain cascade-deletes'
                """
        )
        #expect(lines[2].hasPrefix("::notice title=table-not-strict (0004_odd)::"))
        var odd = Self.findings[0]
        odd = LintFinding(rule: odd.rule, migration: "1", file: "a,b:c%.sql", message: "m")
        #expect(
            try output([odd]).text(as: .github)
                .hasPrefix("::warning file=a%2Cb%3Ac%25.sql,title=drop-table (1)::m%0ASee")
        )
    }

    // MARK: - SARIF

    /// The document follows the schema of OASIS, as an independent validator reads it.
    @Test func sarifFollowsItsSchema() throws {
        let document = try output().text(as: .sarif)
        let program = """
            import json, sys
            from jsonschema import Draft4Validator
            path, document = json.load(sys.stdin)
            schema, value = json.load(open(path)), json.loads(document)
            Draft4Validator.check_schema(schema)
            for error in Draft4Validator(schema).iter_errors(value):
                print(error.json_path, error.message)
            # The validator does refuse what is wrong.
            del value["runs"][0]["tool"]["driver"]["name"]
            value["runs"][0]["results"][0]["level"] = "fatal"
            assert len(list(Draft4Validator(schema).iter_errors(value))) == 2
            """
        let schema = "Tests/MigrationKitCLITests/Sarif/sarif-schema-2.1.0.json"
        #expect(
            try Python.output(of: program, input: [PackageFolder.path(schema), document]) == ""
        )
    }

    private func log(_ output: LintOutput) throws -> [String: Any] {
        let text = try output.text(as: .sarif)
        let object = try JSONSerialization.jsonObject(with: Data(text.utf8))
        let runs = try #require((object as? [String: Any])?["runs"] as? [[String: Any]])
        return try #require(runs.first)
    }

    @Test func sarifListsEveryRuleWithItsPage() throws {
        let driver = try #require(
            (try log(output([]))["tool"] as? [String: Any])?["driver"] as? [String: Any]
        )
        #expect(driver["name"] as? String == "migrationkit-cli")
        #expect(driver["version"] as? String == "1.2.3")
        let rules = try #require(driver["rules"] as? [[String: Any]])
        #expect(rules.compactMap { $0["id"] as? String } == LintRule.allCases.map(\.rawValue))
        for (rule, listed) in zip(LintRule.allCases, rules) {
            let help = try #require((listed["help"] as? [String: String])?["text"])
            #expect(
                help == "\(rule.summary) See 'migrationkit-cli lint --explain \(rule.rawValue)'."
            )
        }
    }

    @Test func sarifHasThePlacesOfResults() throws {
        let results = try #require(try log(output())["results"] as? [[String: Any]])
        let locations = results.compactMap { ($0["locations"] as? [[String: Any]])?.first }
        let first = try #require(locations[0]["physicalLocation"] as? [String: Any])
        #expect(first["region"] as? [String: Int] == ["startLine": 3, "startColumn": 5])
        #expect(
            first["artifactLocation"] as? [String: String]
                == ["uri": "0002_drop.sql", "uriBaseId": "%SRCROOT%"]
        )
        let second = try #require(locations[1]["physicalLocation"] as? [String: Any])
        #expect(
            (second["artifactLocation"] as? [String: String])?["uri"]
                == "Sources/App/My%20Migrations.swift"
        )
        #expect(locations[2]["physicalLocation"] == nil)
        for (finding, result) in zip(Self.findings, results) {
            let index = try #require(result["ruleIndex"] as? Int)
            #expect(LintRule.allCases[index] == finding.rule)
            #expect(result["level"] as? String == finding.level.rawValue)
        }
    }

    /// A line above a statement doesn't make its finding a new one.
    @Test func fingerprintsDontDependOnLines() throws {
        func fingerprints(_ lines: Int...) throws -> [String] {
            let findings = lines.map {
                LintFinding(rule: .dropTable, migration: "1", file: "1.sql", line: $0, message: "m")
            }
            let results = try log(output(findings))["results"] as? [[String: Any]]
            return try #require(results).compactMap {
                ($0["partialFingerprints"] as? [String: String])?["migrationKitLint/v1"]
            }
        }
        #expect(try fingerprints(3, 9) == fingerprints(4, 12))
        #expect(try Set(fingerprints(3, 9)).count == 2)
    }

    // MARK: - Excerpts

    @Test func excerptsShowNoStringOfAMigration() throws {
        let temporary = try TemporaryFolder()
        try temporary.write(
            "1_a.up.sql",
            """
            CREATE TABLE t (a);
              INSERT INTO t VALUES ('geheim ''x'), ("b"), (x'0a1b'); -- it's
            INSERT INTO t VALUES ('first
            second'); PRAGMA busy_timeout = 12345;

            """.utf8
        )
        let folder = try MigrationFolder(path: temporary.path)
        let text = folder.maskedText(of: "1_a.up.sql", in: "1_a")
        func excerpt(_ line: Int, _ column: Int) -> String? {
            text?.excerpt(line: line, column: column)
        }
        #expect(
            excerpt(2, 3) == """
                2 |   INSERT INTO t VALUES ('**********'), ("b"), (x'****'); -- it's
                  |   ^
                """
        )
        #expect(excerpt(3, 1)?.hasPrefix("3 | INSERT INTO t VALUES ('*****\n") == true)
        #expect(excerpt(4, 11)?.hasPrefix("4 | ******'); PRAGMA busy_timeout …") == true)
        #expect(excerpt(99, 1) == nil)
        #expect(folder.maskedText(of: "other.sql", in: "1_a") == nil)

        let finding = LintFinding(
            rule: .unusedAllow,
            migration: "1_a",
            file: "1_a.up.sql",
            line: 1,
            column: 8,
            message: "m"
        )
        let lines = try output([finding], folder: folder).text(as: .human).split(separator: "\n")
        #expect(lines[0].hasPrefix("\(temporary.path)/1_a.up.sql:1:8: warning: m"))
        #expect(lines[1...2] == ["  1 | CREATE TABLE t (a);", "    |        ^"])
    }
}
