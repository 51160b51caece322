import Foundation
import TestSupport
import Testing

/// In a container, the checkout is often writable by all, as GitLab's runner makes it (umask 0000),
/// or another user's, as with GitHub's containers.
extension LintTests {
    private func writeSettings() throws {
        try settings.write("db-path = 'new.db'", "password-file = 'password'", "[lint]")
    }

    private func inCheckout(_ shell: String) throws {
        let result = try TestSupport.run(
            "/usr/bin/env",
            ["-C", tool.folder.path, "sh", "-euc", shell],
            environment: tool.environment
        )
        try #require(result.status == 0, "\(result)")
    }

    /// What a check of a change runs, without a database.
    private func expectChecksToPass() throws {
        for arguments in [
            ["lint"], ["plan"], ["schema-dump"], ["create", "more"], ["init", "--dry-run"],
            ["schema-diff", "--from", "migrations", "--to", "migrations"],
        ] {
            let result = try settings.run(arguments)
            #expect(result.status == 0, "\(result)")
        }
        #expect(!settings.exists("new.db"))
    }

    /// Others could have written which database is opened, and by which key.
    private func expectNoStoreIsOpened(_ way: String) throws {
        for arguments in [
            ["migrate"], ["status"], ["verify"], ["lint", "--pending"], ["plan"],
            ["lint"] + tool.opening, ["status", "--show-settings"],
        ] {
            let result = try settings.run(arguments)
            #expect(result.status == 77, "\(result)")
            #expect(result.stderr.contains(way), "\(result)")
        }
    }

    @Test func whatOpensNoStoreRunsInACheckoutThatAllMayWrite() throws {
        try writeSettings()
        try inCheckout("chmod a+rwX migrations migrations/* migrationkit.toml .")
        try expectChecksToPass()
        try tool.folder.write("new.db", Array(repeating: 1, count: 4096))
        try expectNoStoreIsOpened("chmod go-w migrationkit.toml")
        #expect(try tool.folder.data("new.db") == Data(repeating: 1, count: 4096))
        try FileManager.default.removeItem(atPath: tool.folder.path("new.db"))
        try FileManager.default.removeItem(atPath: tool.folder.path("migrations/0004_more.sql"))
        try inCheckout("chmod go-w migrationkit.toml .")
        let result = try settings.run(["migrate", "--raw-key"])
        #expect(result.status == 0, "\(result)")
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
    func whatOpensNoStoreRunsInACheckoutOfAnother() throws {
        try writeSettings()
        try makeRepository()
        try inCheckout("chown -R 12345:12345 .")
        try expectChecksToPass()
        try tool.folder.write("new.db", Array(repeating: 1, count: 4096))
        try expectNoStoreIsOpened("the settings file migrationkit.toml belongs to another user")

        // Git has a rule of its own, and says how to keep it.
        let refused = try settings.run(["lint", "--base", "main", "--json"])
        #expect(refused.status == 77, "\(refused)")
        #expect(try refused.jsonError()["code"] as? String == "repositoryOfAnother")
        let hint = try #require(try refused.jsonError()["hint"] as? String)
        let command = try #require(hint.split(separator: "\n").last)
        #expect(command.hasPrefix("  git config --global --add safe.directory "), "\(hint)")
        try inCheckout(String(command))
        let result = try settings.run(["lint", "--base", "main"])
        #expect(result.status == 0, "\(result)")
    }

    /// A finding without a file is shown by no code host.
    @Test(arguments: ["json", "sarif", "github"])
    func whateverPreventsTheCheckIsInTheReport(_ format: String) throws {
        try makeRepository()
        for (arguments, status, message) in [
            (["--base", "nowhere"], 66, "git has no branch, tag or commit 'nowhere'"),
            (["--migrations", "nowhere"], 66, "there is no folder 'nowhere'"),
        ] as [([String], Int32, String)] {
            let result = try settings.run(["lint", "--format", format] + arguments)
            #expect(result.status == status, "\(result)")
            #expect(result.stdout.contains(message), "\(result)")
            let folder = arguments[0] == "--base" ? "migrations" : "nowhere"
            let file =
                switch format {
                case "json": "\"file\":\"\(folder)\""
                case "sarif": "\"uri\":\"\(folder)\""
                default: "::error file=\(folder),title=migration-fails"
                }
            #expect(result.stdout.contains(file), "\(result)")
        }
        try settings.write("[lint]", "no-such-rule = 'off'")
        let result = try lint("--format", format)
        #expect(result.status == 64, "\(result)")
        #expect(result.stdout.contains("unknown setting 'lint.no-such-rule'"), "\(result)")
    }
}
