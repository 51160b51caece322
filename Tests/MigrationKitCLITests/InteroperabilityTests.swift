import Foundation
import TestSupport
import Testing

/// Other programs open what the tool makes, and the tool what they make.
@Suite struct InteroperabilityTests {
    let tool: Tool

    init() throws {
        tool = try Tool()
    }

    private var notes: [String] { tool.opening + ["--migrations", PackageFolder.notesMigrations] }

    private func python(_ statements: String...) throws -> String {
        try Python.sqlcipher(tool.database, key: tool.password, statements)
    }

    @Test func shellReadsWhatTheToolMade() throws {
        #expect(try tool.run(["migrate"] + notes).status == 0)
        let answer = try tool.shell(
            "SELECT 'tables', count(*) > 5 FROM sqlite_schema; PRAGMA quick_check;"
        )
        #expect(answer == "tables|1\nok")
    }

    @Test func pythonReadsWhatTheToolMade() throws {
        #expect(try tool.run(["migrate"] + notes).status == 0)
        #expect(try python("SELECT count(*) >= 12 FROM grdb_migrations") == "1")
    }

    @Test func toolMigratesWhatTheShellMade() throws {
        _ = try tool.shell("CREATE TABLE older (id); INSERT INTO older VALUES (7);")
        #expect(try tool.run(["migrate"] + notes).status == 0)
        #expect(try tool.shell("SELECT 'kept', id FROM older;") == "kept|7")
    }

    @Test func toolMigratesWhatPythonMade() throws {
        _ = try python("CREATE TABLE older (id)", "INSERT INTO older VALUES (7)")
        #expect(try tool.run(["migrate"] + notes).status == 0)
        #expect(try python("SELECT id FROM older") == "7")
    }

    @Test func childrenOfTheRebuiltParentAreAllThere() throws {
        let tool = try Tool(isRawKey: true)
        let notes = tool.opening + ["--migrations", PackageFolder.notesMigrations]
        let rebuild = "0011_store_times_as_numbers"
        let before = "0010_pin_notes"
        let children = """
            SELECT 'children', (SELECT count(*) FROM notes), (SELECT count(*) FROM attachments),
                (SELECT count(*) FROM note_tags), (SELECT count(*) FROM reminders);
            """
        #expect(try tool.run(["migrate", "--to", before] + notes).status == 0)
        let counts = try tool.shell(children)
        #expect(counts.hasPrefix("children|"))
        #expect(!counts.split(separator: "|").dropFirst().contains("0"), "\(counts)")

        #expect(try tool.run(["migrate", "--to", rebuild] + notes).status == 0)
        #expect(try tool.shell(children) == counts)
        #expect(try tool.run(["migrate"] + notes).status == 0)
        #expect(try tool.shell(children) == counts)
        #expect(try tool.run(["rollback", "--steps", "3"] + notes).status == 0)
        #expect(try tool.shell(children) == counts)
    }
}
