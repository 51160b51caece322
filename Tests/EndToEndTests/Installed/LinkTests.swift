import Foundation
import TestSupport
import Testing

/// What the tool is linked with.
@Suite struct LinkTests {
    /// The names that `nm` prints.
    private func symbols(_ arguments: String...) throws -> Set<String> {
        let result = try run("nm", arguments)
        #expect(result.status == 0, "\(result)")
        return Set(
            result.stdout.split(separator: "\n").compactMap {
                $0.split(separator: " ").last.map(String.init)
            }
        )
    }

    private func libraryFolder() throws -> String {
        let result = try run("pkg-config", ["--variable=libdir", "sqlcipher"])
        #expect(result.status == 0, "\(result)")
        return result.stdout.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    @Test func toolNeedsNoSystemSQLite() throws {
        let result = try run("readelf", ["-d", builtExecutable("migrationkit-cli")])
        #expect(result.status == 0, "\(result)")
        #expect(result.stdout.contains("libcrypto"))
        #expect(!result.stdout.contains("libsqlite3"), "\(result.stdout)")
    }

    /// It must run where libsecret is not installed, and start without loading it.
    @Test func toolIsNotLinkedWithLibsecret() throws {
        let result = try run("readelf", ["-d", builtExecutable("migrationkit-cli")])
        #expect(result.status == 0, "\(result)")
        #expect(!result.stdout.contains("libsecret"), "\(result.stdout)")
        #expect(!result.stdout.contains("libglib"), "\(result.stdout)")
    }

    /// 34 MB of a tool with Foundation inside, which `CWithoutICUData` leaves out. Another version of
    /// ICU has another name there.
    @Test func toolHasNoDataOfLanguages() throws {
        let tool = try Data(
            contentsOf: URL(filePath: builtExecutable("migrationkit-cli")),
            options: .alwaysMapped
        )
        #expect(tool.range(of: Data("zoneinfo64.res".utf8)) == nil)
    }

    /// A later SQLite may have further functions; then `CMissingFromSQLCipher` lacks them.
    @Test func everyFunctionThatSQLCipherLacksIsRefused() throws {
        let folder = try libraryFolder()
        let system = try symbols("-D", "--defined-only", "\(folder)/libsqlite3.so")
        let encrypted = try symbols("-g", "--defined-only", "\(folder)/libsqlcipher.a")
        let header = try String(contentsOfFile: "/usr/include/sqlite3.h", encoding: .utf8)
        let published = Set(header.matches(of: /\b(sqlite3[a-z0-9_]+) *\(/).map { String($0.1) })
        #expect(published.count > 200)
        let missing = system.intersection(published).subtracting(encrypted)
        // 'make build' leaves no names in the tool.
        let tool = try builtExecutable("migrationkit-cli", besideTests: true)
        let refused = try symbols("-g", "--defined-only", tool)
        #expect(missing.subtracting(refused).isEmpty, "\(missing.subtracting(refused).sorted())")
    }

    /// As in an app, which links the system's library beside SQLCipher's.
    @Test func functionThatSQLCipherLacksIsWarnedOfAndEndsTheProcess() throws {
        let folder = try TemporaryFolder()
        let program = folder.path("program")
        let room = PackageFolder.path("Sources/CMissingFromSQLCipher")
        let source = try folder.write(
            "program.c",
            """
            #include <stddef.h>
            int sqlite3session_create(void *, const char *, void **);
            int main(void) { void *session = NULL; return sqlite3session_create(0, "main", &session); }
            """.utf8
        )
        let linked = try run(
            "clang",
            [
                source, "\(room)/CMissingFromSQLCipher.c", "-I", "\(room)/include", "-lsqlite3",
                "-o", program,
            ]
        )
        #expect(linked.status == 0, "\(linked)")
        #expect(linked.stderr.contains("warning: sqlite3session_create"), "\(linked)")

        let result = try run(program, [])
        #expect(result.signal == SIGABRT)
        #expect(result.stderr.contains("sqlite3session_create is not in SQLCipher's library"))
    }
}
