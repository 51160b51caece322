import GRDB
import Testing

@testable import MigrationKitSchema

/// The schema in the detail that a comparison needs.
@Suite struct SchemaReaderTests {
    private func schema(_ sql: String) throws -> SchemaModel {
        try DatabaseQueue().write { db in
            try db.execute(sql: sql)
            return try SchemaReader().schema(of: db)
        }
    }

    @Test func aTableHasAllItsProperties() throws {
        let table = try #require(
            try schema(
                """
                CREATE TABLE parent (id INTEGER PRIMARY KEY);
                CREATE TABLE [Item] (
                    "id" INTEGER PRIMARY KEY AUTOINCREMENT,
                    name TEXT NOT NULL COLLATE nocase DEFAULT ( 'x' ) CHECK (name  <> ''),
                    low TEXT AS (lower( name )) STORED,
                    parent INTEGER REFERENCES parent ON DELETE SET NULL,
                    UNIQUE (name, parent), CHECK (parent > 0 /* always */)
                ) STRICT;
                """
            ).table("ITEM")
        )
        #expect(table.name == "Item")
        #expect(table.isStrict && table.isAutoincrement && !table.isWithoutRowID)
        #expect(table.columns.map(\.name) == ["id", "name", "low", "parent"])
        #expect(table.column("Name")?.collation == "NOCASE")
        #expect(table.column("name")?.defaultValue?.meaning == "'x'")
        #expect(table.column("low")?.generated?.expression.meaning == "lower ( name )")
        #expect(table.column("low")?.generated?.isStored == true)
        #expect(table.rowIDColumn?.name == "id")
        #expect(table.uniques.map { $0.columns.map(\.text) } == [["name", "parent"]])
        #expect(table.checks.map(\.expression.meaning) == ["name <> ''", "parent > 0"])
        #expect(table.checks.map(\.expression.text) == ["name <> ''", "parent > 0"])
        #expect(table.foreignKeys.map(\.table) == ["parent"])
        #expect(table.foreignKeys.map(\.onDelete) == ["SET NULL"])
    }

    @Test func anIndexHasItsDirectionsCollationsAndCondition() throws {
        let schema = try schema(
            """
            CREATE TABLE t (a TEXT COLLATE NOCASE, b, c);
            CREATE UNIQUE INDEX i ON t (a DESC, b COLLATE RTRIM, lower( c )) WHERE b IS  NOT NULL;
            """
        )
        let index = try #require(schema.index("i"))
        #expect(index.isUnique && index.table == "t")
        #expect(index.columns.map(\.text) == ["a", "b", "lower ( c )"])
        #expect(index.columns.map(\.isDescending) == [true, false, false])
        #expect(index.columns.map(\.collation) == ["NOCASE", "RTRIM", "BINARY"])
        #expect(index.condition == "b is not null")
    }

    @Test func theObjectsOfModulesAreLeftOut() throws {
        let schema = try schema(
            """
            CREATE VIRTUAL TABLE text USING fts5 (body);
            CREATE TABLE t (a INTEGER PRIMARY KEY AUTOINCREMENT);
            """
        )
        #expect(schema.tables.keys.sorted() == ["t", "text"])
        #expect(schema.table("text")?.module == "fts5")
    }

    @Test func aChangedTableIsReadAgain() throws {
        let reader = SchemaReader()
        try DatabaseQueue().write { db in
            try db.execute(sql: "CREATE TABLE t (a); CREATE INDEX i ON t (a);")
            let before = try reader.schema(of: db)
            try db.execute(sql: "ALTER TABLE t RENAME COLUMN a TO b")
            let after = try reader.schema(of: db)
            #expect(before.table("t")?.column("a") != nil)
            #expect(after.table("t")?.columns.map(\.name) == ["b"])
            #expect(after.index("i")?.columns.map(\.text) == ["b"])
            try db.execute(sql: "ALTER TABLE t RENAME TO u")
            let renamed = try reader.schema(of: db)
            #expect(renamed.table("u")?.rootPage == before.table("t")?.rootPage)
        }
    }
}
