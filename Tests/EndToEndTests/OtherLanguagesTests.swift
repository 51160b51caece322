import Foundation
import TestSupport
import Testing

/// Programs in other languages, which start the tool, as `Documentation/OtherLanguages.md` prints them.
@Suite struct OtherLanguagesTests {
    private static let page = "Documentation/OtherLanguages.md"
    private let tool: Tool

    init() throws {
        tool = try Tool()
        try tool.writeItems()
    }

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

    /// The page shows the examples as they are.
    @Test(arguments: ForeignProgram.all) func pageHasTheExample(_ program: ForeignProgram) throws {
        let text = try String(contentsOfFile: program.source, encoding: .utf8)
        #expect(try DocumentationPage(Self.page).code(program.language) == text)
    }

    // MARK: - In Each Situation

    /// Runs a program on the store, with a tool from a folder.
    private func migrate(
        _ words: [String],
        key: String,
        toolIn folder: String? = nil
    ) throws -> ProcessResult {
        let own = URL(filePath: try builtExecutable("migrationkit-cli")).deletingLastPathComponent()
        var environment = tool.environment
        environment["PATH"] = ForeignProgram.path(with: folder ?? own.path)
        return try run(
            "/usr/bin/env",
            words + [tool.database, tool.migrations],
            environment: environment,
            input: key.utf8
        )
    }

    /// A folder with a program that stands for the tool.
    private func standIn(_ name: String, _ script: String) throws -> String {
        let folder = try tool.folder.makeFolder(name)
        try tool.folder.write("\(name)/migrationkit-cli", "#!/bin/sh\n\(script)\n".utf8)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o755],
            ofItemAtPath: "\(folder)/migrationkit-cli"
        )
        return folder
    }

    @Test(arguments: ForeignProgram.all)
    func programMigratesANewStoreAndThenTheSame(_ program: ForeignProgram) throws {
        let words = try program.words(in: tool.folder)
        // Of a key, one line feed at its end is left out, and nothing else.
        let key = " it's \(UUID().uuidString) \t"
        let done = try migrate(words, key: key + "\n")
        #expect(done.status == 0, "\(done)")
        #expect(done.stdout.hasPrefix(#"0 {"applied":[{"identifier":"0001_items""#), "\(done)")
        let rows = try SQLCipherShell.run(tool.database, key: key, "SELECT count(*) FROM item;")
        #expect(rows == "1")
        let again = try migrate(words, key: key)
        #expect(again.status == 0, "\(again)")
        #expect(again.stdout.hasPrefix(#"0 {"applied":[]"#), "\(again)")
    }

    @Test(arguments: ForeignProgram.all)
    func programReportsAWrongKey(_ program: ForeignProgram) throws {
        let words = try program.words(in: tool.folder)
        try #require(try migrate(words, key: tool.password).status == 0)
        let before = try tool.folder.data("store.db")
        let refused = try migrate(words, key: UUID().uuidString)
        #expect(refused.status == 77, "\(refused)")
        #expect(refused.stdout.hasPrefix("77 {\"error\":{"), "\(refused)")
        #expect(refused.stdout.contains(#""code":"wrongKey""#), "\(refused)")
        #expect(try tool.folder.data("store.db") == before)
    }

    @Test(arguments: ForeignProgram.all)
    func programReportsANewerStore(_ program: ForeignProgram) throws {
        let words = try program.words(in: tool.folder)
        try tool.write("0004_drop", up: "DROP TABLE tag;", down: "CREATE TABLE tag (id INTEGER);")
        try #require(try migrate(words, key: tool.password).status == 0)
        try FileManager.default.removeItem(atPath: tool.folder.path("migrations/0004_drop.sql"))
        let before = try tool.folder.data("store.db")
        let refused = try migrate(words, key: tool.password)
        #expect(refused.status == 65, "\(refused)")
        #expect(refused.stdout.contains(#""code":"databaseCanBeDowngraded""#), "\(refused)")
        #expect(try tool.folder.data("store.db") == before)
    }

    /// What starts the program goes on: no signal ends it, and it never says that all went well.
    @Test(arguments: ForeignProgram.all)
    func programFailsWithoutTheTool(_ program: ForeignProgram) throws {
        let words = try program.words(in: tool.folder)
        // Some would only fail if the tool's process ends before the key is written.
        for _ in 0..<20 {
            let failed = try migrate(words, key: tool.password, toolIn: "/nowhere")
            #expect(failed.status == program.withoutTool, "\(failed)")
        }
        #expect(!FileManager.default.fileExists(atPath: tool.database))
    }

    @Test(arguments: ForeignProgram.all)
    func programFailsIfTheToolIsKilled(_ program: ForeignProgram) throws {
        let words = try program.words(in: tool.folder)
        let killed = try standIn("killed", "read key; echo '3 of 9 steps' >&2; kill -9 $$")
        let failed = try migrate(words, key: tool.password, toolIn: killed)
        #expect(failed.status == program.afterKill, "\(failed)")
        // One that reads no key, and one that prints more than a pipe takes.
        let deaf = try standIn("deaf", "exit 3")
        for _ in 0..<5 {
            let failed = try migrate(words, key: tool.password, toolIn: deaf)
            #expect(failed.status != 0 && failed.status != nil, "\(failed)")
        }
        let long = try standIn(
            "long",
            "cat >/dev/null; echo '{\"a\":\"'; yes | head -c 900000; exit 0"
        )
        let done = try migrate(words, key: tool.password, toolIn: long)
        #expect(
            done.status == (program.language == "js" ? 70 : 0),
            "\(program): \(done.status ?? -1)"
        )
    }

    // MARK: - Further Programs of the Page

    /// TypeScript's compiler and the types of Node.js, as Debian has them.
    @Test func programInJavaScriptHasTheTypesThatItNames() throws {
        try ForeignProgram.require("tsc")
        let types = "/usr/share/nodejs/@types"
        guard FileManager.default.fileExists(atPath: "\(types)/node") else {
            try Test.cancel("the types of Node.js aren't there")
        }
        let source = try #require(ForeignProgram.all.first { $0.language == "js" }).source
        let checked = try run(
            "/usr/bin/env",
            [
                "tsc", "--strict", "--noUncheckedIndexedAccess", "--checkJs", "--allowJs",
                "--noEmit", "--target", "es2022", "--module", "nodenext", "--typeRoots", types,
                "--types", "node", source,
            ]
        )
        #expect(checked.status == 0, "\(checked)")
    }

    /// `rusqlite` with the few calls that the page uses, on the system's SQLCipher.
    private static let rusqlite = """
        mod rusqlite {
            use std::ffi::{c_char, c_int, c_void, CString};
            use std::ptr::{null, null_mut};
            #[link(name = "sqlcipher")]
            extern "C" {
                fn sqlite3_open(path: *const c_char, db: *mut *mut c_void) -> c_int;
                fn sqlite3_exec(
                    db: *mut c_void, sql: *const c_char, call: *const c_void, data: *mut c_void,
                    message: *mut *mut c_char,
                ) -> c_int;
            }
            pub struct Connection(*mut c_void);
            impl Connection {
                pub fn open(path: &str) -> std::io::Result<Connection> {
                    let mut db = null_mut();
                    let code = unsafe { sqlite3_open(CString::new(path)?.as_ptr(), &mut db) };
                    if code == 0 { Ok(Connection(db)) } else { Err(std::io::Error::other("open")) }
                }
                pub fn execute_batch(&self, sql: &str) -> std::io::Result<()> {
                    let sql = CString::new(sql)?;
                    let code = unsafe {
                        sqlite3_exec(self.0, sql.as_ptr(), null(), null_mut(), null_mut())
                    };
                    if code == 0 { Ok(()) } else { Err(std::io::Error::other("execute")) }
                }
            }
        }
        """

    /// What the page opens in Rust is opened with the key that the tool had.
    @Test func storeIsOpenedInRustWithTheKeyThatTheToolHad() throws {
        try ForeignProgram.require("rustc")
        let opening = try DocumentationPage(Self.page).code("rust", 2)
        let program = """
            use std::io::Read;
            \(Self.rusqlite)
            fn main() -> std::io::Result<()> {
                let mut key = String::new();
                std::io::stdin().read_to_string(&mut key)?;
                \(opening)
                store.execute_batch("SELECT count(*) FROM item")
            }
            """
        try tool.folder.write("open.rs", program.utf8)
        var environment = ProcessInfo.processInfo.environment
        environment["PATH"] = ForeignProgram.path(with: "/usr/bin")
        let made = tool.folder.path("open")
        let words = ["rustc", "-o", made, tool.folder.path("open.rs")]
        let built = try run("/usr/bin/env", words, environment: environment)
        try #require(built.status == 0, "\(built)")
        for key in ["a b ", "it's", "two\n", "tab\t\r", "ü"] {
            for ending in ["", "\n"] where !(key.hasSuffix("\n") && ending.isEmpty) {
                try? FileManager.default.removeItem(atPath: tool.folder.path("notes.db"))
                let migrated = try tool.run(
                    [
                        "migrate", "--db-path", tool.folder.path("notes.db"), "--migrations",
                        tool.migrations, "--password-file", "-",
                    ],
                    input: key + ending
                )
                #expect(migrated.status == 0, "\(migrated)")
                let opened = try run(
                    "/bin/sh",
                    ["-c", "cd '\(tool.folder.path)' && exec ./open"],
                    input: (key + ending).utf8
                )
                #expect(opened.status == 0, "\(key.debugDescription): \(opened)")
            }
        }
    }
}
