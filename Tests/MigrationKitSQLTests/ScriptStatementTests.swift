import MigrationKit
import TestSupport
import Testing

@testable import MigrationKitSQL

/// The statements of a migration with their places.
@Suite struct ScriptStatementTests {
    @Test func statementsHaveTheirPlaces() throws {
        let folder = try TemporaryFolder([
            "1_a.sql": """
            -- migrate:up
            CREATE TABLE é (x); /* a */ DROP TABLE é;

            CREATE TRIGGER t AFTER INSERT ON a BEGIN
                SELECT CASE WHEN 1 THEN 2 END; SELECT ';';
            END;
            -- migrate:down
            DROP TRIGGER t
            """
        ])
        let sql = try withExtendedLifetime(folder) {
            try #require(MigrationFolder(path: folder.path("")).scripts["1_a"])
        }
        let up = sql.upStatements
        #expect(up.map(\.line) == [2, 2, 4])
        #expect(up.map(\.column) == [1, 29, 1])
        #expect(up.map(\.lastLine) == [2, 2, 6])
        #expect(up[1].text == "DROP TABLE é;")
        #expect(sql.downStatements.map(\.text) == ["DROP TRIGGER t"])
        #expect(sql.downStatements.map(\.line) == [8])
        #expect(sql.files.map(\.name) == ["1_a.sql"])
    }
}
