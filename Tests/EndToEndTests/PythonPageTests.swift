import Foundation
import TestSupport
import Testing

/// The programs in Python that the documentation prints, as they are printed.
@Suite struct PythonPageTests {
    private let page: CommandPage
    private let program: String
    /// The tags that the newer version has added.
    private static let tags = "SELECT name FROM tag ORDER BY 1"

    init() throws {
        page = try CommandPage("")
        program = try DocumentationPage("Documentation/OtherLanguages.md").code("python")
        try page.folder.write("store.py", program.utf8)
        try page.folder.makeFolder("migrations")
        try page.write(
            "0001_note",
            up: "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT);",
            down: "DROP TABLE notes;"
        )
    }

    private func makeKey() throws {
        let made = try shell(
            "migrationkit-cli key generate --keychain-service com.example.Notes --keychain-account notes"
        )
        try #require(made.status == 0, "\(made)")
    }

    private func shell(_ line: String) throws -> ProcessResult { try page.runUnseen(line) }

    /// Runs a program, with answers on its standard input.
    private func python(_ answer: String = "</dev/null", path: String? = nil) throws
        -> ProcessResult
    {
        let path = path.map { "PATH=\($0) " } ?? ""
        let module = PackageFolder.path("Packaging/python")
        return try shell("\(path)PYTHONPATH='\(module)' /usr/bin/python3 -B store.py \(answer)")
    }

    private func query(_ sql: String) throws -> ProcessResult {
        try shell(
            """
            migrationkit-cli query --db-path notes.db --keychain-service com.example.Notes \
            --keychain-account notes --format csv "\(sql)"
            """
        )
    }

    private func opensNewerStore() throws {
        try makeKey()
        try page.write(
            "0002_tag",
            up:
                "CREATE TABLE tag (name TEXT); DROP TABLE notes; INSERT INTO tag VALUES ('a'), ('b');",
            down: "DROP TABLE tag; CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT);"
        )
        let migrated = try python()
        try #require(migrated.status == 0, "\(migrated)")
        try FileManager.default.removeItem(atPath: page.folder.path("migrations/0002_tag.sql"))
    }

    @Test func exampleIsTheOneOfThePage() throws {
        let example = PackageFolder.path("Examples/OtherLanguages/store.py")
        #expect(try String(contentsOfFile: example, encoding: .utf8) == program)
    }

    @Test func storeIsMadeAtTheFirstLaunchAndMigratedAtTheNext() throws {
        try makeKey()
        for _ in 0..<2 {
            let done = try python()
            #expect(done.status == 0, "\(done)")
        }
        #expect(try query("SELECT count(*) FROM notes").stdout.contains("0"))
    }

    @Test func newerStoreKeepsItsRowsUnlessAPersonSaysYes() throws {
        try opensNewerStore()
        let before = try page.folder.data("notes.db")
        try page.folder.write("answer", "no\n".utf8)
        for answer in ["</dev/null", "<answer"] {
            let refused = try python(answer)
            #expect(refused.status == 1, "\(refused)")
            #expect(refused.stdout.contains("would be lost: table tag  2"), "\(refused)")
            #expect(try page.folder.data("notes.db") == before)
        }
        try page.folder.write("answer", "yes\n".utf8)
        let taken = try python("<answer")
        #expect(taken.status == 0, "\(taken)")
        let copy = try #require(taken.stdout.firstMatch(of: /is in the copy (\S+)/)?.1)
        let rows = try shell(
            """
            migrationkit-cli query --db-path '\(copy)' --keychain-service com.example.Notes \
            --keychain-account notes --format csv "\(Self.tags)"
            """
        )
        #expect(rows.stdout.contains("a\nb\n"), "\(rows)")
    }

    @Test func withoutKeyOrToolItFailsAndMakesNothing() throws {
        let keyless = try python()
        #expect(keyless.status == 1, "\(keyless)")
        try makeKey()
        let toolless = try python(path: "/usr/bin:/bin")
        #expect(toolless.status == 1, "\(toolless)")
        #expect(toolless.stdout.contains("there is no migrationkit-cli"), "\(toolless)")
        #expect(!FileManager.default.fileExists(atPath: page.folder.path("notes.db")))
    }

    /// The README of the wheel.
    @Test func exampleOfTheWheelMigratesAndReads() throws {
        let readme = try DocumentationPage("Packaging/python/README.md").code("python")
        try page.folder.write(
            "store.py",
            "import sys\n\(readme)    sys.exit(1)\nprint(rows)\n".utf8
        )
        let keyless = try python()
        #expect(keyless.status == 1 && keyless.stdout.contains("keyNotFound"), "\(keyless)")
        try makeKey()
        let done = try python()
        #expect(done.status == 0 && done.stdout == "[]\n", "\(done)")
    }

    /// A helper with the keys of a fleet's stores, whose vault has one of them.
    @Test func helperWithKeysAnswersForEachStore() throws {
        let helper = try DocumentationPage("Documentation/Fleets.md").code("python")
        let key = ToolFolder.randomDigits(count: 64)
        try page.folder.write(
            "helper",
            """
            #!/usr/bin/python3
            class vault:
                read = {"tenants/one": "\(key)"}.__getitem__
            \(helper)
            """.utf8,
            mode: 0o700
        )
        try page.folder.makeFolder("stores")
        try page.folder.write("key", key.utf8)
        let made = try shell(
            """
            migrationkit-cli migrate --db-path stores/one --password-file key --raw-key &&
            cp stores/one stores/two
            """
        )
        try #require(made.status == 0, "\(made)")
        let status = try shell(
            "migrationkit-cli fleet status --stores 'stores/*' --name-from stores --key-helper ./helper"
        )
        #expect(status.stdout.contains("1 of 2 stores done"), "\(status)")
        #expect(status.stdout.contains("no such tenant"), "\(status)")
    }
}
