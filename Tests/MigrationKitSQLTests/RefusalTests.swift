import GRDB
import MigrationKit
import MigrationKitSQL
import TestSupport
import Testing

/// The rows of the documentation's table of what is refused, each with all that its error says.
@Suite struct RefusalTests {
    private static let up = "-- migrate:up\nCREATE TABLE a (x);\n"

    // MARK: - The folder

    @Test(
        arguments: [
            (Self.up, "has dbmate's markers"), ("-- +goose Up\nSELECT 1", "has goose's markers"),
            ("SELECT 1", "has no marker"),
        ]
    )
    func mixedFormsAreRefused(text: String, phrase: String) throws {
        #expect(
            try message(of: ["1_a.sql": text, "2_b.up.sql": "SELECT 1"]) == """
                the folder mixes two formats: 1_a.sql \(phrase), 2_b.up.sql is one of a pair
                Use one format in a folder, or a folder for each format.
                """
        )
        #expect(
            try refusal(of: ["1_a/up.sql": "SELECT 1", "1_a.sql": text])
                == "the folder mixes two formats: 1_a.sql \(phrase), 1_a/up.sql is in a folder, as in diesel"
        )
        #expect(
            try refusal(of: ["V2__b.sql": "SELECT 1", "1_a.sql": text])
                == "the folder mixes two formats: 1_a.sql \(phrase), V2__b.sql is named as in Flyway and refinery"
        )
    }

    @Test func filesWithMarkersOfTwoToolsOrWithoutAnyAreRefusedAsMixed() throws {
        #expect(
            try refusal(of: ["1_a.sql": Self.up, "2_b.sql": "-- +goose Up\nSELECT 1"])
                == "the folder mixes two formats: 1_a.sql has dbmate's markers, 2_b.sql has goose's "
                + "markers"
        )
        #expect(
            try refusal(of: ["1_a.sql": Self.up, "2_b.sql": "SELECT 1"])
                == "the folder mixes two formats: 1_a.sql has dbmate's markers, 2_b.sql has no marker"
        )
    }

    @Test(arguments: ["schema.sql", "v1__a.sql", "V1_a.sql", "Vx__a.sql", "a.up.sql", "_1.sql"])
    func anSQLFileThatIsNoMigrationIsRefused(name: String) throws {
        #expect(
            try message(of: ["0001_a.sql": Self.up, name: ""]) == """
                \(name): not a migration's file name
                Name it like 0001_name.sql or V1__name.sql, or move it if it is not a migration.
                """
        )
    }

    @Test func aStrangeFileInADieselFolderIsRefused() throws {
        #expect(
            try refusal(of: ["1_a/up.sql": "SELECT 1", "1_a/upp.sql": ""])
                == "1_a/upp.sql: not a migration's file name"
        )
        #expect(
            try error(of: ["1_a/up.sql": "SELECT 1", "1_a/upp.sql": ""])?.recoverySuggestion
                == "Rename it to up.sql or down.sql, or move it: a migration's folder has no other .sql files."
        )
        #expect(
            try refusal(of: ["1_a/UP.SQL": "SELECT 1"])
                == "1_a/UP.SQL: not a migration's file name"
        )
    }

    @Test(
        arguments: [
            (
                "R__views.sql",
                """
                R__views.sql: repeatable migrations are not supported: a migration is applied once \
                and never changes
                Rename it to the next version, with DROP … IF EXISTS before each CREATE, and write a new version whenever it changes.
                """
            ),
            (
                "B2__base.sql",
                """
                B2__base.sql: baseline migrations are not supported: earlier migrations are \
                applied one by one
                Keep it in another folder.
                """
            ),
            (
                "V1__a.sql.conf",
                """
                V1__a.sql.conf: script configurations are not supported: the file would be ignored
                Remove it if the migration works without it.
                """
            ),
            (
                "V2__b.rs",
                """
                V2__b.rs: a migration in a programming language can't be run
                Write it in SQL, or embed the library and make it a step of your own program.
                """
            ),
        ]
    )
    func whatOtherToolsWouldRunIsNotSkipped(name: String, expected: String) throws {
        #expect(try message(of: ["V1__a.sql": "SELECT 1", name: "SELECT 1"]) == expected)
    }

    @Test func aMigrationInGoIsNotSkipped() throws {
        #expect(
            try refusal(of: ["1_a.sql": "-- +goose Up\nSELECT 1", "2_b.go": ""])
                == "2_b.go: a migration in a programming language can't be run"
        )
    }

    @Test func aVersionThatIsThereTwiceIsRefused() throws {
        #expect(
            try message(of: ["1_a.sql": Self.up, "01_b.sql": Self.up]) == """
                several migrations have the version 1: 01_b.sql, 1_a.sql
                Give each its own number: the one that was shipped, or merged first, keeps its name. \
                Where the other one is applied, 'repair --rename OLD=NEW' records its new name.
                """
        )
        #expect(
            try refusal(of: ["0001_a.sql": Self.up, "0001_a.SQL": Self.up])
                == "several migrations have the version 1: 0001_a.SQL, 0001_a.sql"
        )
        #expect(
            try refusal(of: ["1_a.up.sql": "SELECT 1", "1_b.up.sql": "SELECT 1"])
                == "several migrations have the version 1: 1_a.up.sql, 1_b.up.sql"
        )
        #expect(
            try refusal(of: ["V1.0__a.sql": "SELECT 1", "V01__b.sql": "SELECT 1"])
                == "several migrations have the version 1: V01__b.sql, V1.0__a.sql"
        )
        #expect(
            try refusal(of: ["2024-01-02_a/up.sql": "SELECT 1", "20240102_b/up.sql": "SELECT 1"])
                == "several migrations have the version 20240102: 2024-01-02_a/up.sql, "
                + "20240102_b/up.sql"
        )
    }

    @Test func aWayBackWithoutAWayForthIsRefused() throws {
        #expect(
            try message(of: ["1_a.up.sql": "SELECT 1", "2_b.down.sql": "SELECT 1"]) == """
                2_b.down.sql: there is no migration that it could undo
                Give it the number of the migration that it undoes, or remove it.
                """
        )
        #expect(
            try message(of: ["1_a/down.sql": "SELECT 1"]) == """
                1_a/down.sql: there is no migration that it could undo
                Put an up.sql beside it.
                """
        )
        #expect(
            try message(of: ["V1__a.sql": "SELECT 1", "U2__b.sql": "SELECT 1"]) == """
                U2__b.sql: there is no migration that it could undo
                A U file undoes the V file of the same version. If this file comes from refinery, \
                where U files are applied, too, rename it to V.
                """
        )
    }

    // MARK: - The text

    @Test func aNulCharacterIsRefused() throws {
        #expect(
            try message(of: ["1_a.up.sql": "SELECT 1;\nSELECT '\u{0}';"]) == """
                1_a.up.sql:2:9: the text has a NUL character
                2 | SELECT '*';
                  |         ^
                Remove it: SQLite would stop reading there.
                """
        )
    }

    @Test func whatIsNotClosedIsRefused() throws {
        #expect(
            try message(of: ["1_a.sql": "SELECT 1;\n\tSELECT 'it''s;\nSELECT 2;"]) == """
                1_a.sql:2:9: missing ': what begins here is never closed
                2 |  SELECT '
                  |         ^
                Add the missing '
                """
        )
    }

    @Test(
        arguments: [
            (
                RefusedStatement.transactionControl, "COMMIT;",
                """
                1_a.sql:2:3: a migration can't contain BEGIN, COMMIT or ROLLBACK: the runner begins \
                and ends every transaction
                2 |   COMMIT;
                  |   ^
                Remove it. A migration is undone as a whole. Put parts that must commit separately \
                into migrations of their own.
                """
            ),
            (
                .attachment, "ATTACH 'other.db' AS other KEY 'k'",
                """
                1_a.sql:2:3: a migration can't contain ATTACH, DETACH or VACUUM INTO: a migration \
                works on its own database only
                2 |   ATTACH …
                  |   ^
                Remove it. Import data with another program; 'migrate --backup' copies the database.
                """
            ),
            (
                .vacuum, "VACUUM",
                """
                1_a.sql:2:3: a migration can't contain VACUUM: SQLite can't do it in a \
                transaction, and this migration runs in one
                2 |   VACUUM
                  |   ^
                Put it into a migration of its own that has as its first line: -- no-transaction
                """
            ),
            (
                .encryptionPragma, "PRAGMA rekey = 'k';",
                """
                1_a.sql:2:3: a migration can't contain a PRAGMA about the key or the encryption: \
                the program that opens a database decides how it is encrypted
                2 |   PRAGMA rekey …
                  |   ^
                Remove it. If it contains a real key, change that key: it is no longer secret.
                """
            ),
            (
                .temporaryStoragePragma, "PRAGMA temp_store = FILE;",
                """
                1_a.sql:2:3: a migration can't contain a PRAGMA about temporary storage: it could \
                write temporary data to the disk unencrypted
                2 |   PRAGMA temp_store …
                  |   ^
                Remove it.
                """
            ),
            (
                .durabilityPragma, "PRAGMA journal_mode = OFF;",
                """
                1_a.sql:2:3: a migration can't contain a PRAGMA that turns off the journal or its \
                synchronization: a failed or interrupted migration could not be undone
                2 |   PRAGMA journal_mode …
                  |   ^
                Remove it. WAL, DELETE, TRUNCATE and PERSIST are safe journal modes; NORMAL, FULL \
                and EXTRA are safe levels of synchronization.
                """
            ),
        ] as [(RefusedStatement, String, String)]
    )
    func whatReachesBeyondTheTransactionIsRefused(
        kind: RefusedStatement,
        statement: String,
        expected: String
    ) throws {
        #expect(try message(of: ["1_a.sql": "SELECT 1;\n  \(statement)"]) == expected)
    }

    @Test(
        arguments: [
            ("1_a.sql", "-- migrate:up\nVACUUM", "begins with: -- migrate:up transaction:false"),
            ("1_a.sql", "-- +goose Up\nVACUUM", "has the line: -- +goose NO TRANSACTION"),
            ("1_a.up.sql", "VACUUM", "has as its first line: -- no-transaction"),
            (
                "1_a/up.sql", "VACUUM",
                "has a metadata.toml with the line: run_in_transaction = false"
            ),
            ("V1__a.sql", "VACUUM", nil),
        ] as [(String, String, String?)]
    )
    func theWayOutOfATransactionIsThatOfTheFormat(
        file: String,
        text: String,
        way: String?
    ) throws {
        let error = try #require(try error(of: [file: text]))
        let advice = error.recoverySuggestion?.split(separator: "\n").last
        let expected =
            way.map { "Put it into a migration of its own that \($0)" } ?? """
                In this format, every migration runs in a transaction. Use another format for the \
                folder, and put it into a migration of its own
                """
        #expect(advice == Substring(expected))
    }

    // MARK: - Markers

    /// What is meant as a marker and isn't one: the SQL after it would run at the end of the step.
    @Test(
        arguments: [
            "--- migrate:down", "---- migrate:down ----", "-- == migrate:down ==",
            "-- >>> migrate:down",
            "/* migrate:down */", "/* migrate down */", "-- migrate down", "-- migrate-down",
            "-- migrate;down", "-- migrations:down", "-- dbmate:down", "-- Migration Down",
            "-- down",
            "-- Down", "-- rollback", "-- undo", "-- revert", "--@UNDO", "-- rambler down",
            "--- migrate:down transaction:false", "-- migrate check",
            "--- migrate:check every note has a body",
            "-- migratedown", "-- migrate/down", "-- migrate->down", "-- downgrade", "-- !Downs",
            "-- Rollback SQL", "-- migrate-check", "-- migrate require", "--- migrate:batch",
        ],
        ["-- migrate:up\n", "-- +goose Up\n", ""]
    )
    func whatIsLikeAMarkerIsRefused(_ line: String, _ head: String) throws {
        let text = "\(head)CREATE TABLE a (x);\n\(line)\nDROP TABLE a;\n"
        let error = try error(of: ["1_a.sql": text])
        guard case .misspeltMarker = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test(
        arguments: [
            "-- Migrate down to the last row.", "-- Migrations check nothing here.",
            "-- Goose ends here: down",
            "-- Undo nothing.", "/* The down part is in another file. */", "-- migrate the rows",
            "-- Migrate: the check of the old table is gone.",
            "-- migrate: check that all rows are there",
            "-- migrate - check later", "-- migrate: end of the data",
            "-- dbmate ends the statement itself",
        ],
        ["-- migrate:up\n", ""]
    )
    func proseIsNoMarker(_ line: String, _ head: String) throws {
        #expect(
            try error(of: ["1_a.sql": "\(head)CREATE TABLE a (x);\n\(line)\nDROP TABLE a;\n"])
                == nil
        )
    }

    @Test(
        arguments: [
            (
                "-- migrate:down\nDROP TABLE a;",
                """
                1_a.sql:1:1: '-- migrate:up' is missing
                1 | -- migrate:down
                  | ^
                Put the line above the SQL that applies the migration.
                """
            ),
            (
                "-- +goose Down\nDROP TABLE a;",
                """
                1_a.sql:1:1: '-- +goose Up' is missing
                1 | -- +goose Down
                  | ^
                Put the line above the SQL that applies the migration.
                """
            ),
            (
                "-- migrate:down\nSELECT 1;\n-- migrate:up\nSELECT 1;",
                """
                1_a.sql:1:1: the down part comes before the up part
                1 | -- migrate:down
                  | ^
                Put the part that applies the migration first.
                """
            ),
            (
                "-- Why.\nSELECT 1;\n-- +goose Up\nSELECT 1;",
                """
                1_a.sql:2:1: a statement comes before the up part's marker
                2 | SELECT 1;
                  | ^
                Move it below the marker. Only comments may come before it.
                """
            ),
            (
                "-- migrate:up\nSELECT 1;\n-- migrate:up\nSELECT 1;",
                """
                1_a.sql:3:1: '-- migrate:up' is repeated
                3 | -- migrate:up
                  | ^
                Use one up part and one down part, or several blocks with one of each.
                """
            ),
            (
                "-- migrate:up\nSELECT 1;\n-- migrate:down\n-- migrate:up\nSELECT 1;",
                """
                1_a.sql:4:1: this block has no '-- migrate:down', but the ones before it do
                4 | -- migrate:up
                  | ^
                Add a '-- migrate:down' to every block, empty if needed: a rollback undoes all \
                blocks.
                """
            ),
            (
                "-- +goose Up\nSELECT 1;\n-- +goose Down\n-- +goose Up\nSELECT 1;",
                """
                1_a.sql:4:1: '-- +goose Up' is repeated
                4 | -- +goose Up
                  | ^
                Use one part to apply the migration and one to roll it back.
                """
            ),
            (
                "-- migrate:up\nSELECT 1;\n-- migrate:dwon\nSELECT 1;",
                """
                1_a.sql:3:1: '-- migrate:dwon' looks like a misspelled marker
                3 | -- migrate:dwon
                  | ^
                A marker is at the beginning of a line:
                  -- migrate:up, -- migrate:down (in lower case)
                  -- +goose Up, -- +goose Down, -- +goose NO TRANSACTION
                  -- migrate:require, -- migrate:check, -- migrate:end, for checks
                """
            ),
            (
                "-- migrate:up\nSELECT 1;\n-- +goose Down\nSELECT 1;",
                """
                1_a.sql:3:1: '-- +goose Down' is a marker of another tool
                3 | -- +goose Down
                  | ^
                Use the markers of one tool.
                """
            ),
            (
                "\n-- migrate:up\nSELECT 1;\n-- migrate:down env:x",
                """
                1_a.sql:4:17: the option 'env:x' is not supported
                4 | -- migrate:down env:x
                  |                 ^
                Remove it: 'transaction:false' is the only one that changes anything.
                """
            ),
            (
                "-- +goose ENVSUB ON\n-- +goose Up\nSELECT '${HOME}';",
                """
                1_a.sql:1:1: environment variables are not replaced in a migration
                1 | -- +goose ENVSUB ON
                  | ^
                Write the values into the file and remove the line. A migration must be the same \
                wherever it runs.
                """
            ),
            (
                "-- +goose Up\n-- +goose StatementBegin\nSELECT 1;\n-- +goose Down\nSELECT 1;",
                """
                1_a.sql:2:1: StatementBegin and StatementEnd don't match
                2 | -- +goose StatementBegin
                  | ^
                Put StatementBegin above a statement and StatementEnd below it, or remove both: \
                they aren't needed.
                """
            ),
            (
                "SELECT 1;\n-- no-transaction\nVACUUM;",
                """
                1_a.sql:2:1: '-- no-transaction' must be exactly that, on the first line
                2 | -- no-transaction
                  | ^
                Make it the first line of the file, or remove it.
                """
            ),
        ]
    )
    func markersThatDontFitAreRefused(text: String, expected: String) throws {
        #expect(try message(of: ["1_a.sql": text]) == expected)
    }

    @Test(arguments: [
        "-- +goose Up\nSELECT 1;\n-- +goose StatementEnd", "-- +goose StatementBegin\n-- +goose Up",
        "-- +goose Up\n-- +goose StatementBegin\n-- +goose StatementBegin\nSELECT 1;",
        "-- +goose Up\n-- +goose StatementBegin\nSELECT 1;",
    ])
    func oneOfGoosesPairAloneIsRefused(text: String) throws {
        #expect(
            try refusal(of: ["1_a.sql": text])?
                .hasSuffix("StatementBegin and StatementEnd don't match") == true
        )
    }

    @Test(arguments: [
        "-- migrate:up transaction:no\nSELECT 1;", "-- migrate:up\nSELECT 1;\n-- migrate:down a:b",
    ])
    func optionsThatAreUnknownAreRefused(text: String) throws {
        #expect(try refusal(of: ["1_a.sql": text])?.hasSuffix("' is not supported") == true)
    }

    @Test(arguments: ["1_a.up.sql", "1_a/up.sql", "V1__a.sql"])
    func aMarkerInAFileOfOnePartIsRefused(file: String) throws {
        #expect(
            try message(of: [file: "SELECT 1;\n-- migrate:down\nDROP TABLE a;"]) == """
                \(file):2:1: '-- migrate:down' is not allowed here: the whole file is one part
                2 | -- migrate:down
                  | ^
                Remove the marker, or put both parts in one file that is named like 0001_name.sql.
                """
        )
    }

    @Test(arguments: ["--no-transaction", "-- No transaction", "\n-- no-transaction"])
    func aMisspeltNoTransactionIsRefused(line: String) throws {
        for file in ["1_a.sql", "1_a.up.sql"] {
            #expect(
                try refusal(of: [file: line + "\nSELECT 1;"])?
                    .contains("'-- no-transaction' must be exactly that, on the first line") == true
            )
        }
        #expect(try refusal(of: ["1_a.sql": "-- No transaction is needed.\nSELECT 1;"]) == nil)
    }

    @Test(arguments: [
        "run_in_transaction = False", "run_in_transaction", "other = 1", "[section]",
        "run_in_transaction = \"false\"", "\"run_in_transaction\" = false",
    ])
    func metadataThatNothingFollowsIsRefused(line: String) throws {
        let metadata = "# Why: it's slow\n\n  \(line)\n"
        #expect(
            try message(of: ["1_a/up.sql": "SELECT 1", "1_a/metadata.toml": metadata]) == """
                1_a/metadata.toml:3:3: only one line 'run_in_transaction = true' or \
                'run_in_transaction = false' is allowed
                3 |   \(line)
                  |   ^
                Remove everything else from the file: it would be ignored.
                """
        )
        let twice = "run_in_transaction = true\nrun_in_transaction = true"
        #expect(
            try error(of: ["1_a/up.sql": "SELECT 1", "1_a/metadata.toml": twice])?.place?.line == 2
        )
    }

    // MARK: - What is allowed, with a note

    @Test func foreignKeysInAMigrationAreNoted() throws {
        let folder = try TemporaryFolder([
            "1_a.sql": "SELECT 1;\n  pragma main.foreign_keys(0);\nPRAGMA foreign_keys;",
            "2_b.sql": "-- no-transaction\nPRAGMA foreign_keys = ON;",
        ])
        #expect(
            try folder.migrations().notes.map(\.description) == [
                "1_a.sql:2:3: PRAGMA foreign_keys has no effect in a transaction; foreign keys are "
                    + "off in every migration anyway, and checked before its commit",
                "2_b.sql:2:1: PRAGMA foreign_keys takes effect here, since this migration runs "
                    + "outside of a transaction; foreign keys are not checked afterwards",
            ]
        )
        #expect(try folder.migrations().notes.map(\.identifier) == ["1_a", "2_b"])
    }

    @Test func journalModeInATransactionIsNoted() throws {
        let folder = try TemporaryFolder([
            "1_a.sql": "SELECT 1;\n  pragma main.journal_mode(wal);\nPRAGMA journal_mode;",
            "2_b.sql": "-- no-transaction\nPRAGMA journal_mode = WAL;",
        ])
        #expect(
            try folder.migrations().notes.map(\.description) == [
                "1_a.sql:2:3: PRAGMA journal_mode has no effect in a transaction: the database keeps "
                    + "its journal mode; put it into a migration of its own that runs outside of one"
            ]
        )
    }
}
