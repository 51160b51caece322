import Foundation
import TestSupport
import Testing

/// Other programs open what the tool makes, and the tool what they make.
@Suite struct InteroperabilityTests {
    let tool: Tool

    init() throws {
        tool = try Tool()
    }

    private var notes: [String] { tool.opening + ["--migrations", Tool.notesMigrations] }

    private func shell(_ sql: String) throws -> String {
        let quoted = tool.password.replacing("'", with: "''")
        let result = try TestSupport.run(
            "sqlcipher",
            ["-batch", tool.database],
            environment: tool.environment,
            input: "PRAGMA key = '\(quoted)';\n\(sql)\n".utf8
        )
        #expect(result.stderr.isEmpty)
        return result.stdout
    }

    /// `.build/python` is where Scripts/bootstrap puts Python's SQLCipher.
    private func python(_ body: String) throws -> String {
        let package = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let script = """
            import sqlcipher3, sys
            connection = sqlcipher3.connect(sys.argv[1])
            password = open(sys.argv[2], encoding="utf-8").read().rstrip("\\n")
            connection.execute("PRAGMA key = '" + password.replace("'", "''") + "'")
            \(body)
            """
        let result = try TestSupport.run(
            package.appendingPathComponent(".build/python/bin/python").path,
            ["-c", script, tool.database, tool.folder.path("password")],
            environment: tool.environment
        )
        #expect(result.stderr.isEmpty)
        return result.stdout
    }

    @Test func shellReadsWhatTheToolMade() throws {
        #expect(try tool.run(["migrate"] + notes).status == 0)
        let answer = try shell(
            "SELECT 'tables', count(*) > 5 FROM sqlite_schema; PRAGMA quick_check;"
        )
        #expect(answer.contains("tables|1"))
        #expect(answer.contains("ok\n"))
    }

    @Test func pythonReadsWhatTheToolMade() throws {
        #expect(try tool.run(["migrate"] + notes).status == 0)
        let answer = try python(
            "print(connection.execute('SELECT count(*) FROM grdb_migrations').fetchone()[0] >= 12)"
        )
        #expect(answer == "True\n")
    }

    @Test func toolMigratesWhatTheShellMade() throws {
        _ = try shell("CREATE TABLE older (id); INSERT INTO older VALUES (7);")
        #expect(try tool.run(["migrate"] + notes).status == 0)
        #expect(try shell("SELECT 'kept', id FROM older;").contains("kept|7"))
    }

    @Test func toolMigratesWhatPythonMade() throws {
        _ = try python(
            """
            connection.execute("CREATE TABLE older (id)")
            connection.execute("INSERT INTO older VALUES (7)")
            connection.commit()
            """
        )
        #expect(try tool.run(["migrate"] + notes).status == 0)
        #expect(
            try python("print(connection.execute('SELECT id FROM older').fetchone()[0])") == "7\n"
        )
    }

    @Test func childrenOfTheRebuiltParentAreAllThere() throws {
        let rebuild = "0011_store_times_as_numbers"
        let before = "0010_pin_notes"
        let children = """
            SELECT 'children', (SELECT count(*) FROM notes), (SELECT count(*) FROM attachments),
                (SELECT count(*) FROM note_tags), (SELECT count(*) FROM reminders);
            """
        #expect(try tool.run(["migrate", "--to", before] + notes).status == 0)
        let counts = try #require(
            try shell(children).split(separator: "\n").last { $0.contains("children") }
        )
        #expect(!counts.split(separator: "|").dropFirst().contains("0"), "\(counts)")

        #expect(try tool.run(["migrate", "--to", rebuild] + notes).status == 0)
        #expect(try shell(children).contains(counts))
        #expect(try tool.run(["migrate"] + notes).status == 0)
        #expect(try shell(children).contains(counts))
        #expect(try tool.run(["rollback", "--steps", "3"] + notes).status == 0)
        #expect(try shell(children).contains(counts))
    }
}
