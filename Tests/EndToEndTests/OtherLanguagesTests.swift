import Foundation
import TestSupport
import Testing

/// Programs in other languages, which start the tool.
@Suite struct OtherLanguagesTests {
    /// The module's own tests, against the built tool.
    @Test func moduleForPythonKeepsItsWord() throws {
        let result = try run(
            Python.executable,
            ["-B", PackageFolder.path("Packaging/python/test_migrationkit.py")],
            environment: [
                "PATH": "/usr/bin:/bin", "TOOL": builtExecutable("migrationkit-cli"),
                "PYTHONPATH": PackageFolder.path("Packaging/python"),
            ],
            within: 600
        )
        #expect(result.status == 0, "\(result.stderr)")
        #expect(result.stderr.hasSuffix("OK\n"), "\(result.stderr)")
    }

    private static let sources = PackageFolder.path("Examples/OtherLanguages")

    /// How each example is built, if it is, and run. Its compiler is to be had on some machines only.
    @Test(arguments: [
        (file: "store.c", compiler: "cc", build: ["-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE"]),
        (file: "store.rs", compiler: "rustc", build: ["-D", "warnings"]),
        (file: "store.mjs", compiler: "node", build: nil),
    ])
    func exampleMigratesAStore(file: String, compiler: String, build: [String]?) throws {
        let tool = try Tool()
        var environment = tool.environment
        let home = ProcessInfo.processInfo.environment["HOME"] ?? ""
        let own = URL(filePath: try builtExecutable("migrationkit-cli")).deletingLastPathComponent()
        environment["PATH"] = "\(own.path):/usr/bin:/bin:\(home)/.cargo/bin"
        let installed = try run(
            "/bin/sh",
            ["-c", "command -v \(compiler)"],
            environment: environment
        )
        if installed.status != 0 { try Test.cancel("there is no \(compiler)") }

        var program = [compiler, "\(Self.sources)/\(file)"]
        if let build {
            let made = tool.folder.path("program")
            var homed = environment
            homed["HOME"] = home
            let words = [compiler] + build + ["-o", made, "\(Self.sources)/\(file)"]
            let built = try run("/usr/bin/env", words, environment: homed)
            try #require(built.status == 0, "\(built)")
            program = [made]
        }
        try tool.writeItems()
        func migrate(_ key: String) throws -> ProcessResult {
            let words = program + [tool.database, tool.migrations]
            return try run("/usr/bin/env", words, environment: environment, input: key.utf8)
        }
        let key = UUID().uuidString
        let done = try migrate(key)
        #expect(done.status == 0, "\(done)")
        #expect(done.stdout.hasPrefix(#"0 {"applied":[{"identifier":"0001_items""#), "\(done)")
        let refused = try migrate(UUID().uuidString)
        #expect(refused.status == 77, "\(refused)")
        #expect(refused.stdout.hasPrefix("77 {\"error\":{"), "\(refused)")
        #expect(refused.stdout.contains(#""code":"wrongKey""#), "\(refused)")
        let header = try Data(contentsOf: URL(filePath: tool.database)).prefix(15)
        #expect(header != Data("SQLite format 3".utf8))
    }

    /// The page shows the examples as they are.
    @Test func pageHasTheExamples() throws {
        let page = try String(
            contentsOfFile: PackageFolder.path("Documentation/OtherLanguages.md"),
            encoding: .utf8
        )
        for file in ["store.c", "store.rs", "store.mjs"] {
            let text = try String(contentsOfFile: "\(Self.sources)/\(file)", encoding: .utf8)
            #expect(page.contains(text), "\(file)")
        }
    }
}
