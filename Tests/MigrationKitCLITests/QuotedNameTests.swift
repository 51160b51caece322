import GRDB
import MigrationKit
import TestSupport
import Testing

/// A name whose quotes stand before a combining mark: in Swift, both are one character.
@Suite struct QuotedNameTests {
    private static let name = "q\"\u{301}'\u{301}"

    @Test func sqliteReadsTheNameAndTheTextAsTheyWere() throws {
        try DatabaseQueue().write { db in
            let text = try String.fetchOne(db, sql: "SELECT \(Self.name.sqlString)") ?? ""
            #expect(Array(text.utf8) == Array(Self.name.utf8))
            try db.execute(sql: "CREATE TABLE \(Self.name.quotedName) (a)")
            let name = try String.fetchOne(db, sql: "SELECT name FROM sqlite_schema") ?? ""
            #expect(Array(name.utf8) == Array(Self.name.utf8))
            #expect(Array(name.quotedName.unquotedName.utf8) == Array(name.utf8))
        }
    }

    @Test func commandsFindTheTableAndItsRows() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("notes.db")
        let queue = try DatabaseQueue(path: path)
        try queue.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE \(Self.name.quotedName) (id INTEGER PRIMARY KEY, a);
                    INSERT INTO \(Self.name.quotedName) (a) VALUES (1), (2), (3);
                    CREATE TABLE "q" (a)
                    """
            )
        }
        try queue.close()
        func run(_ arguments: String...) -> String {
            let result = ToolInProcess().run(arguments + ["--no-encryption"])
            #expect(result.status == 0, "\(arguments) \(result.stderr)")
            return result.stdout
        }
        #expect(run("tables", path, "--json").contains("\"rows\":3"))
        let dump = run("schema-dump", "--db-path", path)
        try DatabaseQueue().write { try $0.execute(sql: dump) }
        let salvaged = folder.path("salvaged.db")
        _ = run("salvage", path, "--output", salvaged)
        let count = try DatabaseQueue(path: salvaged).read {
            try Int.fetchOne($0, sql: "SELECT count(*) FROM \(Self.name.quotedName)")
        }
        #expect(count == 3)
    }
}
