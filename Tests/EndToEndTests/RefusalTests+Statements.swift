import TestSupport

extension RefusalTests {
    private static let up = "-- migrate:up\nCREATE TABLE note (id INTEGER);\n"

    private static let orphan = """
        -- migrate:up
        CREATE TABLE folder (id INTEGER PRIMARY KEY);
        CREATE TABLE note (id INTEGER PRIMARY KEY, folder INTEGER REFERENCES folder (id));
        INSERT INTO note VALUES (1, NULL), (2, 7), (3, 8);

        """

    /// Statements that a migration must not have.
    static let refusedStatements =
        ["BEGIN IMMEDIATE", "COMMIT", "END", "ROLLBACK", "SAVEPOINT a", "RELEASE a"].map {
            let word = $0.prefix { $0 != " " }.lowercased()
            return RefusalCase("statement-\(word)", "\(up)  \($0);\n")
        } + [
            RefusalCase("statement-attach", up + "ATTACH 'old.db' AS old KEY 'open sesame';\n"),
            RefusalCase("statement-detach", up + "DETACH old;\n"),
            RefusalCase("statement-vacuum", up + "VACUUM;\n"),
            RefusalCase("pragma-key", up + "PRAGMA key = 'open sesame';\n"),
            RefusalCase("pragma-key-as-json", up + "PRAGMA key = 'open sesame';\n")
                .running(["migrate", "--json"]),
            RefusalCase("pragma-rekey", up + "PRAGMA main.rekey('open sesame');\n"),
            RefusalCase("pragma-cipher-migrate", up + "PRAGMA cipher_migrate;\n"),
            RefusalCase("pragma-cipher", up + "PRAGMA cipher_page_size = 512;\n"),
            RefusalCase("pragma-temp-store", up + "PRAGMA temp_store = FILE;\n"),
            RefusalCase(
                "pragma-temp-store-directory",
                up + "PRAGMA temp_store_directory = '/tmp';\n"
            ),
            RefusalCase(
                "pragma-journal-mode",
                "-- migrate:up transaction:false\nPRAGMA journal_mode = OFF;\n"
            ),
            RefusalCase(
                "pragma-synchronous",
                "-- migrate:up transaction:false\nPRAGMA synchronous = OFF;\n"
            ),
            RefusalCase(
                "statement-in-down-part",
                up + "-- migrate:down\nDROP TABLE note;\nCOMMIT;\n"
            ),
        ]

    /// What SQLite refuses, with its place.
    static let refusedWhileRunning = [
        RefusalCase("syntax-error", up + "\nCREAT TABLE tag (id);\n"),
        RefusalCase("syntax-error-as-json", up + "\nCREAT TABLE tag (id);\n")
            .running(["migrate", "--json"]),
        RefusalCase("refused-row", up + "INSERT INTO note (id)\nVALUES (1), ('one', 2);\n"),
        RefusalCase(
            "constraint",
            "-- migrate:up\nCREATE TABLE note (id UNIQUE);\nINSERT INTO note VALUES (1), (1);\n"
        ),
        RefusalCase("foreign-key", orphan).running(
            ["migrate"],
            ["migrate", "--json"],
            ["migrate", "--all-or-nothing"],
            ["migrate", "--dry-run"]
        ),
        RefusalCase(
            "foreign-key-of-an-earlier-migration",
            ["0001_notes.sql": orphan, "0002_tags.sql": "-- migrate:up\nCREATE TABLE tag (id);\n"]
        ),
        RefusalCase(
            "schema-garbage",
            up + """
                PRAGMA writable_schema = ON;
                UPDATE sqlite_schema SET sql = 'garbage' WHERE name = 'note';
                PRAGMA writable_schema = OFF;

                """
        ),
        RefusalCase("parameters", up + "INSERT INTO note VALUES (:id);\n"),
    ]

    /// What looks odd, and does what its author means.
    static let handled = [
        RefusalCase("byte-order-mark", "\u{FEFF}\(up)\u{FEFF}CREATE TABLE tag (id);\n"),
        RefusalCase(
            "windows-line-ends",
            "-- migrate:up\r\nCREATE TABLE note (\r\n  id INTEGER\r\n);\r\n"
                + "-- migrate:down\r\nDROP TABLE note;\r\n"
        ),
        RefusalCase("no-last-semicolon", "\(up)CREATE TABLE tag (id)\n-- migrate:down\nSELECT 1"),
        RefusalCase(
            "marker-in-literal-comment-and-trigger",
            up + """
                CREATE TABLE tag (id DEFAULT '
                -- migrate:down
                ');
                /*
                -- migrate:down
                */
                CREATE TRIGGER t AFTER INSERT ON tag BEGIN
                -- migrate:down
                  INSERT INTO note VALUES (1);
                  INSERT INTO note VALUES (2);
                END;

                """
        ),
        RefusalCase(
            "several-blocks",
            up + "-- migrate:down\nDROP TABLE note;\n-- migrate:up\nCREATE TABLE tag (id);\n"
                + "-- migrate:down\nDROP TABLE tag;\n"
        ).running(["migrate"], ["rollback"]),
        RefusalCase(
            "statement-begin-and-end",
            "-- +goose ENVSUB OFF\n-- +goose Up\n-- +goose StatementBegin\n"
                + "CREATE TABLE note (id)\n-- +goose StatementEnd\nCREATE TABLE tag (id);\n"
        ),
        RefusalCase("words-behind-marker", "-- migrate:up in one go\nCREATE TABLE note (id);\n"),
        RefusalCase(
            "transaction-true",
            "-- migrate:up transaction:true\nCREATE TABLE note (id);\n"
        ),
        RefusalCase(
            "rows",
            up + "INSERT INTO note VALUES (1) RETURNING id;\nSELECT * FROM note;\n"
        ),
        RefusalCase(
            "foreign-keys",
            "-- migrate:up\nPRAGMA foreign_keys = OFF;\nCREATE TABLE note (id);\n"
                + "PRAGMA foreign_keys = ON;\n"
        ),
        RefusalCase(
            "foreign-keys-outside-of-transaction",
            "-- migrate:up transaction:false\nPRAGMA foreign_keys = ON;\n"
                + "CREATE TABLE note (id);\nVACUUM;\n"
        ),
        RefusalCase(
            "journal-mode-in-transaction",
            "-- migrate:up\nPRAGMA journal_mode = WAL;\nCREATE TABLE note (id);\n"
        ),
        RefusalCase("no-transaction-of-goose", "-- +goose NO TRANSACTION\n-- +goose Up\nVACUUM;\n"),
        RefusalCase("no-transaction-of-sqlx", "-- no-transaction\nVACUUM;\n"),
        RefusalCase(
            "no-transaction-of-diesel",
            [
                "1_a/up.sql": "VACUUM;\n",
                "1_a/metadata.toml": "# Compacts.\nrun_in_transaction = false\n",
            ]
        ),
    ]
}
