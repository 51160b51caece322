import TestSupport
import Testing

/// The page about the tests of a folder says what the tool prints now. To write it anew, run this with
/// `TESTS_RECORD_SNAPSHOTS=1`.
@Suite struct TestsPageTests {
    @Test func pageIsWhatTheToolPrints() throws {
        var page = try CommandPage(
            """
            # Testing a folder

            `migrationkit-cli test` runs the migrations of a folder as users will run them: from every
            version, forward and back, with rows. It needs no database and no key.

            A test makes this page: it runs the commands, and shows what they print. For migrations in
            Swift, see [Testing](Testing.md).

            """
        )
        try page.folder.makeFolder("migrations")
        try page.write(
            "0001_create_users",
            up: """
                CREATE TABLE users (
                    id INTEGER PRIMARY KEY,
                    name TEXT NOT NULL,
                    city TEXT
                ) STRICT;
                """,
            down: "DROP TABLE users;"
        )
        try page.write(
            "0002_full_name",
            up: """
                CREATE TABLE users_new (
                    id INTEGER PRIMARY KEY,
                    full_name TEXT NOT NULL,
                    city TEXT NOT NULL
                ) STRICT;
                INSERT INTO users_new SELECT id, name, city FROM users WHERE id > 1;
                DROP TABLE users;
                ALTER TABLE users_new RENAME TO users;
                CREATE INDEX users_city ON users (city);
                """,
            down: """
                ALTER TABLE users RENAME COLUMN full_name TO name;
                """
        )
        try ofGeneratedRows(&page)
        try ofOwnTests(&page)
        page.say(
            """
            ## What is tested

            | kind | what must hold | not judged |
            | --- | --- | --- |
            | `install` | a new database gets all migrations | |
            | `upgrade` | a database of each version gets the next migration on a new connection, with generated rows, too, and has the schema of a new one; with `--base REF`, also a database that has the migrations as they are there | rows whose values a constraint refuses: real rows may have others |
            | `again` | a second run changes nothing; a migration [outside a transaction](Folders.md#a-migration-outside-a-transaction) that ran, but wasn't recorded, is refused or changes nothing | |
            | `rollback` | the down part restores the schema, and leaves the rows that the up part leaves; then the migration can be applied again, with the same schema and as many rows | values that the up part changes |
            | `rows` | every generated row is there after a migration, with the same values in the columns that are still there; if a statement may leave rows out (`DISTINCT`, `UNION`, a condition, `OR IGNORE`), so are rows that are equal, and rows with NULLs | tables for which no generated row fits (`test` names the migration), tables from which it deletes, columns that it updates or computes in `INSERT … SELECT`, and migrations with `-- migrationkit:allow` for a rule about lost rows |
            | `older` | where a migration says that [older versions](OlderVersions.md) work with it, or is judged so, the version before can read, insert, change and delete rows | tables that it has nothing to do with |
            | `tests` | each query gives the rows that its file says | |

            Each step is tested on a database of the version before it. If all of them have the schema that a
            new database has at that version, every upgrade leads to the same end, so 500 migrations need
            seconds, not minutes.

            The generated rows are those of [`lint`](Linting.md), which reads the statements instead: it
            explains more faults, and finds those that need rows of a real database. Run both.

            All databases are in memory, so nothing reaches a disk, and Ctrl-C leaves nothing. The time and the
            memory of a stranger's SQL [are limited](Linting.md#changes-of-strangers).

            ## In CI

            `--base origin/main` tests only what a branch adds or changes, and the upgrade from there;
            `--since 0042` what comes after a migration. `--format github` prints annotations, `--format junit`
            a report for GitLab and others, `--json` all tests with their kind, place and outcome.
            [Recipes](CI.md) have it beside `lint`.

            | exit | means |
            | --- | --- |
            | 0 | all tests passed |
            | 3 | a test failed |
            | 65 | the migrations or a file of tests can't be used |
            """
        )
        #expect(!page.text.contains("/tmp/"))
        try expectSnapshot(page.text, at: "Documentation/TestingFolders.md")
    }

    private func ofGeneratedRows(_ page: inout CommandPage) throws {
        page.say(
            """
            ## With generated rows

            This migration leaves out a row, forgets an index when it is taken back, and more:
            """
        )
        try page.run("cat migrations/0002_full_name.sql", "migrationkit-cli test")
        page.say("Corrected:")
        try page.write(
            "0002_full_name",
            up: """
                ALTER TABLE users RENAME COLUMN name TO full_name;
                CREATE INDEX users_city ON users (city);
                """,
            down: """
                DROP INDEX users_city;
                ALTER TABLE users RENAME COLUMN full_name TO name;
                """
        )
        try page.run("migrationkit-cli test")
    }

    private func ofOwnTests(_ page: inout CommandPage) throws {
        page.say(
            """
            ## Tests of your own

            Generated rows find what a schema can tell. What your app means by a row, only you know. The
            `.sql` files of the folder `tests` beside the migrations say what is written at a version, and
            what queries give after others:
            """
        )
        try page.folder.makeFolder("tests")
        try page.folder.write(
            "tests/full_name.sql",
            """
            -- migrate:at 0001_create_users
            INSERT INTO users (id, name, city) VALUES (1, 'Ada', 'London'), (2, 'Grace', NULL);

            -- migrate:after 0002_full_name
            SELECT id, full_name, city FROM users ORDER BY id;
            -- migrate:gives
            VALUES (1, 'Ada', 'London'), (2, 'Grace', '');

            """.utf8
        )
        try page.run("cat tests/full_name.sql", "migrationkit-cli test")
        try page.write(
            "0002_full_name",
            up: """
                ALTER TABLE users RENAME COLUMN name TO full_name;
                UPDATE users SET city = '' WHERE city IS NULL;
                CREATE INDEX users_city ON users (city);
                """,
            down: """
                DROP INDEX users_city;
                ALTER TABLE users RENAME COLUMN full_name TO name;
                """
        )
        page.say("With an `UPDATE` in the migration:")
        try page.run("migrationkit-cli test")
        page.say(
            """
            - A version is a migration's identifier, the beginning of one, or its number.
            - `-- migrate:at` brings the database to a version, and runs the statements below it in one
              transaction, with foreign keys on.
            - `-- migrate:after` brings it to a version on a new connection. Each query below it is
              compared with the query in the same place below `-- migrate:gives`: row by row in their
              order, values with their types. For no rows, write `SELECT 1 WHERE false`.
            - A file may have several of each, with versions that ascend; another file begins anew. Without
              `-- migrate:at`, it begins with a new database.
            - A failing test shows both results. They are your test's rows, not a user's.

            `tests` in [`migrationkit.toml`](Settings.md), `--tests` or `MIGRATIONKIT_TESTS` names another
            folder.
            """
        )
    }
}
