import GRDB
import MigrationKitLint
import MigrationKitSQL
import TestSupport
import Testing

/// What a step needs that SQLite doesn't have, found without running it.
@Suite struct StepNeedsTests {
    private func needs(_ sql: String) throws -> [String] {
        let files = try TemporaryFolder(["1_step.sql": sql])
        let folder = try MigrationFolder(path: files.path(""))
        let script = try #require(folder.scripts["1_step"])
        return try StepNeeds(Configuration()).missing(in: script)
            .map { "\($0.at.line) \($0.need.phrase)" }
    }

    @Test func whatSQLiteLacksIsFound() throws {
        let needs = try needs(
            """
            CREATE TABLE note (text DEFAULT (shout('a')), name COLLATE backwards);
            INSERT INTO note (text) SELECT "loud" (text) FROM note WHERE SHOUT(text) ORDER BY quiet();
            INSERT INTO note (text) VALUES (1), (low(2));
            CREATE INDEX note_text ON note (deep(text));
            CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = 'words');
            CREATE VIRTUAL TABLE places USING places (text);
            SELECT * FROM note, series(1);
            """
        )
        #expect(
            needs == [
                "1 the function 'shout'", "1 the collation 'backwards'", "2 the function 'loud'",
                "2 the function 'quiet'", "3 the function 'low'", "4 the function 'deep'",
                "5 the tokenizer 'words'", "6 the module 'places'", "7 the function 'series'",
            ]
        )
    }

    @Test func whatIsNoCallIsNotTakenForOne() throws {
        let needs = try needs(
            """
            CREATE TABLE IF NOT EXISTS note (
                id INTEGER PRIMARY KEY, a VARCHAR(20), b "DECIMAL" (1, 2) COLLATE nocase,
                c REFERENCES other (id), d AS (abs(a)), CHECK (a IN (1)), UNIQUE (a, b),
                CONSTRAINT own FOREIGN KEY (a) REFERENCES other (id)
            );
            CREATE UNIQUE INDEX part ON note (a, b) WHERE (b) > (1);
            WITH RECURSIVE one (x) AS (SELECT 1), two (y) AS MATERIALIZED (SELECT max(1) AS y)
            INSERT INTO note (a, b) SELECT x, count(*) FILTER (WHERE y > 1) OVER (ORDER BY y)
            FROM one, two, json_each('[]') WHERE NOT EXISTS (SELECT 1) AND x IN (1) AND (1)
            ON CONFLICT (id) DO UPDATE SET (a, b) = (1, CAST(2 AS TEXT));
            INSERT INTO note (a) VALUES (CASE WHEN (1) THEN (2) ELSE (3) END), ('nothing(1)');
            SELECT * FROM note, pragma_table_info('note') -- other(1)
            WINDOW w AS (ORDER BY a), v AS (ORDER BY b);
            CREATE VIRTUAL TABLE text USING fts5 (a, b, tokenize = 'porter unicode61');
            CREATE TRIGGER later AFTER INSERT ON note BEGIN SELECT of_the_app(1); END;
            PRAGMA user_version(1);
            """
        )
        #expect(needs == [])
    }
}
