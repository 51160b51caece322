import Foundation
import TestSupport
import Testing

/// What a change of a stranger can bring along: it runs nothing, and hides nothing.
extension LintTests {
    // MARK: - A Repository Among the Files

    /// Puts what makes a bare repository into the folder of migrations.
    private func embedRepository(_ settings: String, commit: String) throws {
        for folder in ["objects/pack", "refs/heads", "refs/remotes/origin"] {
            try FileManager.default.createDirectory(
                atPath: tool.folder.path("migrations/\(folder)"),
                withIntermediateDirectories: true
            )
        }
        try tool.folder.write("migrations/HEAD", "ref: refs/heads/main\n".utf8)
        try tool.folder.write("migrations/config", settings.utf8)
        for branch in ["heads/main", "remotes/origin/main"] {
            try tool.folder.write("migrations/refs/\(branch)", "\(commit)\n".utf8)
        }
    }

    @Test(arguments: [".", "migrations"])
    func aRepositoryThatLiesInTheFolderRunsNothing(_ place: String) throws {
        try makeRepository()
        let trace = tool.folder.path("ran")
        try embedRepository(
            """
            [core]
                repositoryformatversion = 1
                bare = true
            [extensions]
                partialClone = origin
            [remote "origin"]
                promisor = true
                url = "ext::touch \(trace)"
            [protocol "ext"]
                allow = always
            """,
            commit: String(repeating: "1", count: 40)
        )
        let result = try TestSupport.run(
            "/usr/bin/env",
            [
                "-C", tool.folder.path(place), builtExecutable("migrationkit-cli"), "lint",
                "--migrations", tool.migrations, "--base", "origin/main", "--json",
            ],
            environment: tool.environment
        )
        #expect(result.status == 66, "\(result)")
        let expected = place == "." ? "noSuchReference" : "noRepository"
        #expect(try result.jsonError()["code"] as? String == expected)
        #expect(!settings.exists("ran"))
    }

    @Test func aRepositoryThatLiesInTheFolderHidesNoChange() throws {
        try makeRepository()
        try tool.write("0002_row", up: "INSERT INTO item VALUES (2);", down: "DELETE FROM item;")
        let changed = try tool.folder.makeFolder("changed")
        for file in ["0001_items", "0002_row", "0003_tags"].map({ "\($0).sql" }) {
            try FileManager.default.copyItem(
                atPath: tool.folder.path("migrations/\(file)"),
                toPath: "\(changed)/\(file)"
            )
        }
        try git("-C", "changed", "init", "--quiet")
        try git("-C", "changed", "add", ".")
        try git("-C", "changed", "commit", "--quiet", "--message", "x")
        for part in ["HEAD", "config", "objects", "refs"] {
            try FileManager.default.moveItem(
                atPath: "\(changed)/.git/\(part)",
                toPath: tool.folder.path("migrations/\(part)")
            )
        }
        try tool.folder.write("migrations/config", "[core]\n    bare = true\n".utf8)
        let findings = try findings("--base", "main", status: 3)
        #expect(findings.contains { $0.hasPrefix("migration-changed 0002_row") }, "\(findings)")
    }

    /// Git would fetch what is missing by a command of the repository's settings.
    @Test func nothingIsFetchedForAPartialClone() throws {
        try makeRepository()
        try tool.write("0002_row", up: "INSERT INTO item VALUES (2);", down: "DELETE FROM item;")
        try git("checkout", "--quiet", "-b", "feature")
        try commit()
        try git("config", "uploadpack.allowFilter", "true")
        try git(
            "clone",
            "--quiet",
            "--filter=blob:none",
            "file://\(tool.folder.path)",
            "clone"
        )
        func lint() throws -> ProcessResult {
            try TestSupport.run(
                "/usr/bin/env",
                [
                    "-C", tool.folder.path("clone"), builtExecutable("migrationkit-cli"), "lint",
                    "--base", "origin/main",
                ],
                environment: tool.environment
            )
        }
        let result = try lint()
        #expect(result.status == 74, "\(result)")
        #expect(result.stderr.contains("git fetch --refetch --no-filter"), "\(result)")
        try git("-C", "clone", "fetch", "--quiet", "--refetch", "--no-filter")
        #expect(try lint().stdout.contains("[migration-changed]"))
    }

    /// Otherwise a change could lead the folder to files of its own.
    @Test func theFolderIsComparedAtThePathThatIsWritten() throws {
        try makeRepository()
        try FileManager.default.moveItem(
            atPath: tool.migrations,
            toPath: tool.folder.path("elsewhere")
        )
        try FileManager.default.createSymbolicLink(
            atPath: tool.migrations,
            withDestinationPath: "elsewhere"
        )
        try tool.write("0001_items", up: "CREATE TABLE item (id TEXT);", down: "DROP TABLE item;")
        let findings = try findings("--base", "main", status: 3)
        #expect(findings.contains { $0.hasPrefix("migration-changed 0001_items") }, "\(findings)")
        // A link that is in the base is followed there.
        try git("add", ".")
        try git("commit", "--quiet", "--message", "x")
        #expect(try lint("--base", "HEAD").stdout.hasPrefix("Checked 0 migrations"))
    }

    @Test func aFolderOutsideOfTheRepositoryHasNoBase() throws {
        try makeRepository()
        let result = try TestSupport.run(
            "/usr/bin/env",
            [
                "-C", "/", builtExecutable("migrationkit-cli"), "lint", "--migrations",
                tool.migrations, "--base", "main", "--json",
            ],
            environment: tool.environment
        )
        #expect(try result.jsonError()["code"] as? String == "noRepository", "\(result)")
    }
}
