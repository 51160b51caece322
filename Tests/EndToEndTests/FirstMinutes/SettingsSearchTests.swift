import Foundation
import TestSupport
import Testing

/// The settings of a project are found from the folders below it, and nobody else's are.
@Suite struct SettingsSearchTests {
    var project: Project

    init() throws {
        project = try Project(home: "/nonexistent")
        try project.folder.makeFolder("mine")
        try project.folder.makeFolder("mine/below")
        try project.folder.makeFolder("mine/below/deep")
    }

    private func write(_ name: String, _ lines: String..., mode: mode_t = 0o644) throws {
        let text = lines.map { $0 + "\n" }.joined()
        try project.folder.write("\(name)/migrationkit.toml", text.utf8, mode: mode)
    }

    /// What `status --show-settings` says of a setting, seen from `mine/below/deep`.
    private func setting(_ name: String, _ arguments: String...) throws -> [String: String] {
        let shown = try TestSupport.run(
            "/usr/bin/env",
            [
                "-C", project.folder.path("mine/below/deep"), builtExecutable("migrationkit-cli"),
                "status", "--show-settings", "--json",
            ] + arguments,
            environment: project.environment,
            newSession: true
        )
        #expect(shown.status == 0, "\(shown)")
        let rows = try #require(try shown.json()["settings"] as? [[String: Any]])
        return try #require(rows.first { $0["name"] as? String == name })
            .compactMapValues { $0 as? String }
    }

    private func expectRefusal(_ reason: String, below place: String = "mine/below/deep") throws {
        let result = try project.run("status", in: place)
        #expect(result.status == 77, "\(result)")
        #expect(result.stderr.contains(reason), "\(result)")
        #expect(result.stderr.contains("migrationkit.toml"), "\(result)")
        #expect(
            try project.run("migrate", "--json", in: place).jsonError()["code"] as? String
                == "settingsOfAnother"
        )
    }

    // MARK: - Found

    @Test func settingsOfTheRepositoryAreFoundFromBelow() throws {
        try project.folder.makeFolder("mine/.git")
        try write("mine", "db-path = 'notes.db'")
        #expect(
            try setting("config") == [
                "name": "config", "value": "../../migrationkit.toml", "origin": "folderAbove",
                "at": project.folder.path("mine"),
            ]
        )
        #expect(try setting("db-path")["value"] == "../../notes.db")
        #expect(try setting("migrations")["value"] == "../../migrations")
        let document = try project.run("status", "--show-settings", "--json", in: "mine/below")
        #expect(
            try DocumentSchema.complaints(about: [
                .init(definition: "status-show-settings", text: document.stdout)
            ]) == ""
        )
        let text = try project.run("status", "--show-settings", in: "mine/below/deep").stdout
        #expect(text.contains("the folder \(project.folder.path("mine"))\n"), "\(text)")
    }

    @Test func pathsStartAtTheSettings() throws {
        try project.folder.makeFolder("mine/.git")
        try project.folder.makeFolder("mine/migrations")
        try project.folder.write(
            "mine/migrations/0001_a.sql",
            "-- migrate:up\nCREATE TABLE a (id INTEGER);\n".utf8
        )
        try project.folder.write("mine/key", "a passphrase of this test\n".utf8)
        try write("mine", "db-path = 'notes.db'", "password-file = 'key'")
        #expect(try project.run("migrate", in: "mine/below/deep").status == 0)
        #expect(project.folder.mode("mine/notes.db") == 0o600)
        #expect(try project.run("verify", in: "mine/below").status == 0)
        #expect(try project.run("status", "--exit-code", in: "mine").status == 0)
    }

    @Test func nearestFileCounts() throws {
        try project.folder.makeFolder("mine/.git")
        try write("mine", "db-path = 'far.db'")
        try write("mine/below", "db-path = 'near.db'")
        #expect(try setting("db-path")["value"] == "../near.db")
        try write("mine/below/deep", "db-path = 'here.db'")
        #expect(try setting("db-path")["value"] == "here.db")
        #expect(try setting("config")["origin"] == "workingFolder")
    }

    @Test func searchEndsAtTheRepositoryAndAtTheHomeFolder() throws {
        var test = self
        try write("mine", "db-path = 'notes.db'")
        #expect(try test.setting("config")["origin"] == "unset", "outside of both")
        test.project.environment["HOME"] = project.folder.path("mine")
        #expect(try test.setting("db-path")["value"] == "../../notes.db")
        test.project.environment["HOME"] = project.folder.path("mine/below")
        #expect(try test.setting("config")["origin"] == "unset", "above the home folder")
        test.project.environment["HOME"] = project.folder.path
        try project.folder.write("mine/below/.git", "gitdir: elsewhere\n".utf8)
        #expect(try test.setting("config")["origin"] == "unset", "above the repository")
        for home in ["/", "", "relative"] {
            test.project.environment["HOME"] = home
            try? FileManager.default.removeItem(atPath: project.folder.path("mine/below/.git"))
            #expect(try test.setting("config")["origin"] == "unset", "home \(home)")
        }
    }

    @Test func namedFileEndsTheSearch() throws {
        try project.folder.makeFolder("mine/.git")
        try write("mine", "this is no settings file")
        #expect(try setting("config", "--config", "/dev/null")["value"] == "/dev/null")
        #expect(try setting("migrations", "--config", "/dev/null")["value"] == "migrations")
    }

    // MARK: - Refused

    @Test func fileThatOthersMayWriteIsRefused() throws {
        try project.folder.makeFolder("mine/.git")
        for mode: mode_t in [0o666, 0o664] {
            try write("mine", "db-path = 'notes.db'", mode: mode)
            try expectRefusal("../../migrationkit.toml can be written by others")
        }
        #expect(try setting("db-path", "--config", "/dev/null")["origin"] == "unset")
    }

    @Test(arguments: [0o777, 0o1777] as [mode_t])
    func folderThatEverybodyMayWriteIsRefused(_ mode: mode_t) throws {
        try project.folder.makeFolder("mine/.git")
        try write("mine", "db-path = 'notes.db'")
        #expect(chmod(project.folder.path("mine"), mode) == 0)
        try expectRefusal("../../migrationkit.toml is in a folder that others can write")
        #expect(chmod(project.folder.path("mine"), 0o775) == 0)
        #expect(try setting("db-path")["value"] == "../../notes.db", "a group may share a project")
    }

    /// As in /tmp: another user has put settings above a folder of one's own.
    @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
    func whatAnotherUserPutsAboveIsNotUsed() throws {
        #expect(chmod(project.folder.path("mine"), 0o1777) == 0)
        try write("mine", "db-path = 'theirs.db'")
        #expect(chown(project.folder.path("mine/migrationkit.toml"), 12345, 12345) == 0)
        #expect(try setting("config")["origin"] == "unset", "outside of a repository")

        try project.folder.makeFolder("mine/.git")
        #expect(chown(project.folder.path("mine/.git"), 12345, 12345) == 0)
        #expect(try setting("config")["origin"] == "unset", "a repository of theirs")

        #expect(chown(project.folder.path("mine/.git"), 0, 0) == 0)
        try expectRefusal("../../migrationkit.toml belongs to another user")
    }

    /// The file belongs to the user, but the paths in it start where the link is.
    @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
    func linkOfAnotherUserIsRefused() throws {
        try project.folder.makeFolder("mine/.git")
        try write("mine/below/deep", "db-path = 'notes.db'")
        let file = project.folder.path("mine/below/deep/migrationkit.toml")
        // A link out of the repository, or to another name, is refused whoever made it.
        try project.folder.makeFolder("mine/own")
        let own = project.folder.path("mine/own/migrationkit.toml")
        try FileManager.default.moveItem(atPath: file, toPath: own)
        for (place, name) in [("mine", "../../"), ("mine/below/deep", "")] {
            let link = project.folder.path("\(place)/migrationkit.toml")
            #expect(symlink(own, link) == 0)
            #expect(try setting("db-path")["value"] == "\(name)notes.db")
            #expect(lchown(link, 12345, 12345) == 0)
            try expectRefusal("\(name)migrationkit.toml belongs to another user")
            #expect(unlink(link) == 0)
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a folder away"))
    func folderOfAnotherUserIsRefused() throws {
        try project.folder.makeFolder("mine/.git")
        try write("mine", "db-path = 'notes.db'")
        #expect(chown(project.folder.path("mine"), 12345, 12345) == 0)
        try expectRefusal("is in a folder that others can write")
    }

    @Test func whatIsNoFileIsRefused() throws {
        try project.folder.makeFolder("mine/.git")
        let path = project.folder.path("mine/migrationkit.toml")
        #expect(mkfifo(path, 0o600) == 0)
        #expect(try project.run("status", in: "mine/below").status == 66)
        #expect(unlink(path) == 0)
        #expect(symlink("nowhere", path) == 0)
        let result = try project.run("status", in: "mine/below")
        #expect(result.status == 66)
        #expect(result.stderr.contains("../migrationkit.toml is a link to a file"), "\(result)")
    }
}
