import TestSupport
import Testing

/// The page about checks says what the tool prints now. To write it anew, run this with
/// `TESTS_RECORD_SNAPSHOTS=1`.
@Suite struct ChecksPageTests {
    @Test func pageIsWhatTheToolPrints() throws {
        var page = try CommandPage(
            """
            # Checks

            A check is a query that returns a row for each violation, and none if all is well. A
            migration's own checks refuse or undo it; those of a folder hold for the whole database.

            A test makes this page: it runs the commands, and shows what they print.

            """
        )
        try page.runUnseen(
            "migrationkit-cli init --keychain-service com.example.Shop --db-path shop.db"
        )
        try page.runUnseen("migrationkit-cli key generate")
        try page.write(
            "0001_create_orders",
            up: """
                CREATE TABLE orders (
                    id INTEGER PRIMARY KEY,
                    customer TEXT,
                    total INTEGER NOT NULL
                ) STRICT;
                INSERT INTO orders (customer, total)
                VALUES ('Ada', 120), (NULL, 80), ('Grace', 0), (NULL, 15);
                """,
            down: "DROP TABLE orders;"
        )
        try page.runUnseen("migrationkit-cli migrate")

        try ofMigrations(&page)
        try ofFolders(&page)
        page.say(
            """
            ## What a check may be

            - One `SELECT` or `VALUES` after the other, each perhaps with a `WITH`. Anything else is
              refused when the file is read, before anything runs: statements that write, `PRAGMA`,
              `ATTACH`. `SELECT * FROM pragma_foreign_key_check` is a query. A function that writes
              fails.
            - Its name is the comment directly above it, without an empty line between; or else the text
              after the marker, or its place.
            - Its rows are counted. No value is shown, in no message and no report. Up to ten rows are
              named by their `rowid`, if that is the first column: written `rowid` or `TABLE.rowid`, or
              named so with `AS rowid`.
            - A part or a file without a query is an error.
            - The result is exit code 2, with the error code `requirementFailed` or `checkFailed`; in
              `verify` the check fails like any other. `unusableCheck` (65) is a query that SQLite refuses.
              [`lint`](Linting.md) finds these before: [`migration-fails`](lint/migration-fails.md).
            - Ctrl-C ends a check that takes too long.

            ## In each format

            | format | where the parts are |
            | --- | --- |
            | dbmate | below `-- migrate:up`, or above it if dbmate itself needn't read the file |
            | goose | below `-- +goose Up`, or above it if goose itself needn't read the file |
            | golang-migrate, sqlx | in `0001_name.up.sql`, or in the file without markers |
            | diesel | in `up.sql` |
            | Flyway, refinery | in `V1__name.sql` |

            A part ends with `-- migrate:end`, with the next part, or with the file. A marker is at the
            beginning of its line, in lower case. The parts belong to what applies a migration; in what
            takes it back they are refused. The other tools take the markers for comments, and run the
            queries as statements of the migration, where they change nothing.

            The queries are part of the migration's checksum, so they can't be changed or added once it is
            applied. Nothing of them is stored in the database.

            A migration [outside a transaction](Folders.md#a-migration-outside-a-transaction) can't be
            undone: if its check finds a row, what it did stays, it isn't recorded, and it runs again next
            time. Its requirement is checked before it begins.

            ## In Swift

            `MigrationStep` takes `requirements` and `checks`, each a `CheckQuery` of a name and a query.
            `runner.checking(_:)` takes what a folder of checks has, and `CheckQuery.inFolder(_:)` reads one.
            What isn't a query goes into the step itself, which can throw, or into `verifyBeforeCommit`.
            """
        )
        #expect(!page.text.contains("/tmp/"))
        try expectSnapshot(page.text, at: "Documentation/Checks.md")
    }

    private func ofMigrations(_ page: inout CommandPage) throws {
        page.say(
            """
            ## Of a migration

            `-- migrate:require` begins what must hold before the migration, and `-- migrate:check` what
            must hold after it. `-- migrate:end` ends such a part.
            """
        )
        try page.write(
            "0002_create_customers",
            up: """
                -- migrate:require
                -- no order without a customer
                SELECT rowid FROM orders WHERE customer IS NULL;
                -- migrate:end

                CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
                INSERT INTO customers (name) SELECT customer FROM orders WHERE total > 0;

                -- migrate:check
                -- the customer of each order is there
                SELECT orders.rowid FROM orders
                WHERE NOT EXISTS (SELECT * FROM customers WHERE name = orders.customer);
                """,
            down: "DROP TABLE customers;"
        )
        try page.run("cat migrations/0002_create_customers.sql")
        page.say("The requirement refuses the migration, which isn't begun:")
        try page.run("migrationkit-cli migrate")
        page.say("Once those rows are gone, the check finds what the migration forgets:")
        try page.run(
            "migrationkit-cli query --write 'DELETE FROM orders WHERE customer IS NULL'",
            "migrationkit-cli migrate"
        )
        page.say(
            """
            `migrate --dry-run` runs them, too, in the transaction that it undoes. `plan` shows them where
            they run. A check sees the temporary tables of its migration, such as a count of rows from
            before.
            """
        )
    }

    private func ofFolders(_ page: inout CommandPage) throws {
        page.say(
            """
            ## Of a folder

            Each query in the `.sql` files of the folder `checks` beside the migrations must hold whenever
            nothing is pending. `checks` in [`migrationkit.toml`](Settings.md), `--checks` or
            `MIGRATIONKIT_CHECKS` names another folder. Programs with their own steps use
            [Swift](#in-swift).
            """
        )
        try page.folder.makeFolder("checks")
        try page.folder.write(
            "checks/orders.sql",
            """
            -- each order costs something
            SELECT rowid FROM orders WHERE total <= 0;

            -- no customer is there twice
            SELECT min(rowid) AS rowid FROM customers GROUP BY name HAVING count(*) > 1;

            """.utf8
        )
        try page.run("cat checks/orders.sql")
        page.say(
            """
            A run that applies the last pending migration checks them before its last commit, and undoes
            that migration if one finds a row. `verify` reports each:
            """
        )
        try page.write(
            "0002_create_customers",
            up: """
                CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
                INSERT INTO customers (name) SELECT customer FROM orders;
                """,
            down: "DROP TABLE customers;"
        )
        try page.run(
            "migrationkit-cli migrate",
            "migrationkit-cli query --write 'DELETE FROM orders WHERE total = 0'"
        )
        try page.write(
            "0002_create_customers",
            up: """
                CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
                INSERT INTO customers (name) SELECT DISTINCT customer FROM orders;
                """,
            down: "DROP TABLE customers;"
        )
        page.say("With `SELECT DISTINCT customer` in the migration:")
        try page.run("migrationkit-cli plan", "migrationkit-cli migrate", "migrationkit-cli verify")
        try page.runUnseen(
            "migrationkit-cli query --write \"INSERT INTO orders (customer, total) VALUES ('Ada', -3)\""
        )
        page.say("After an app has written an order of -3:")
        try page.run("migrationkit-cli verify")
    }
}
