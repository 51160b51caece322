import Foundation
import TestSupport
import Testing

/// `--quiet`: only errors, and what was asked for.
@Suite struct QuietTests {
    let tool: Tool

    init() throws {
        tool = try Tool(environment: ["MIGRATIONKIT_NIX": "unknown"], isRawKey: true)
        try tool.writeItems()
    }

    private func expectSilence(_ result: ProcessResult) {
        #expect(result.status == 0, "\(result)")
        #expect(result.stdout.isEmpty, "\(result)")
        #expect(result.stderr.isEmpty, "\(result)")
    }

    @Test func whatWasDoneIsNotPrinted() throws {
        expectSilence(try tool.onStore("migrate", "-q"))
        expectSilence(try tool.onStore("verify", "--quiet"))
        expectSilence(try tool.onStore("verify", "--full", "-q"))
        expectSilence(try tool.onStore("rollback", "-q"))
        expectSilence(try tool.onStore("redo", "-q"))
        let copy = tool.folder.path("copy.db")
        expectSilence(try tool.run(["backup", "-q", "-o", copy] + tool.opening))
        expectSilence(try tool.run(["key", "check", "-q"] + tool.opening))
        #expect(
            try tool.onStore("status", "--json").json()["pending"] as? [String] == ["0003_tags"]
        )
    }

    @Test func whatWasAskedForIsPrinted() throws {
        let plan = try tool.onStore("migrate", "-nq")
        #expect(plan.stdout.contains("Would apply 3 migrations"), "\(plan)")
        #expect(plan.stderr.isEmpty)
        let migrated = try tool.onStore("migrate", "-q", "--json")
        #expect(try migrated.json()["created"] as? Bool == true)
        #expect(migrated.stderr.isEmpty)
        for command in ["status", "history"] {
            let result = try tool.onStore(command, "-q")
            #expect(result.stdout.contains("0003_tags"), "\(result)")
            #expect(result.stderr.isEmpty)
        }
        #expect(
            try tool.run("schema-dump", "-q", "--migrations", tool.migrations).stdout
                .contains("CREATE TABLE item")
        )
        let created = try tool.run("create", "more", "-q", "--migrations", tool.migrations)
        #expect(created.stdout == "\(tool.migrations)/0004_more.sql\n")
    }

    @Test func errorsArePrintedAndTheExitCodeStays() throws {
        try tool.write("0004_wrong", up: "CREATE TABLE item (id);")
        let failed = try tool.onStore("migrate", "-q")
        #expect(failed.status == 1)
        #expect(failed.stdout.isEmpty)
        #expect(failed.stderr.hasPrefix("error: the migration 0004_wrong failed"), "\(failed)")
        let pending = try tool.onStore("plan", "-q", "--exit-code")
        #expect(pending.status == 3)
        let unsound = try tool.onStore("verify", "-q", "--require-index", "item.none")
        #expect(unsound.status == 2)
        #expect(unsound.stdout.hasPrefix("FAILED  required_index item.none\n"), "\(unsound)")
        #expect(!unsound.stdout.contains("ok "))
    }
}
