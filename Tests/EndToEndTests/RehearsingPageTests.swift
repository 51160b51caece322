import TestSupport
import Testing

/// The page about rehearsals says what the tool prints now. To write it anew, run this with
/// `TESTS_RECORD_SNAPSHOTS=1`.
@Suite struct RehearsingPageTests {
    @Test func pageIsWhatTheToolPrints() throws {
        var page = try CommandPage(
            """
            # Rehearsing

            `rehearse` applies the pending migrations to a copy of the real database, so that you know
            beforehand whether they succeed, how long they take, and how much room they need. The database
            itself is only read. If a program was stopped while it wrote, so that SQLite would undo its change on
            opening, the database is refused (`needsRecovery`).

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
                    customer TEXT NOT NULL,
                    total INTEGER NOT NULL
                ) STRICT;
                INSERT INTO orders (customer, total)
                WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 5000)
                SELECT 'customer ' || x, x FROM n;
                """,
            down: "DROP TABLE orders;"
        )
        try page.runUnseen("migrationkit-cli migrate")
        try page.write(
            "0002_add_tax",
            up: """
                ALTER TABLE orders ADD COLUMN tax INTEGER NOT NULL DEFAULT 0;
                UPDATE orders SET tax = total / 5;
                """,
            down: "ALTER TABLE orders DROP COLUMN tax;"
        )
        try page.write(
            "0003_index_customers",
            up: "CREATE INDEX orders_customer ON orders (customer);",
            down: "DROP INDEX orders_customer;"
        )
        try page.run("migrationkit-cli rehearse")
        page.say(
            """
            Beside each migration stand the rows that it inserts, changes and deletes, the room that it needs
            on the disk beside what the database has, and the time of its own work. `migrating` has the
            commits and the verification of `migrate` in it, too. The options are those of `migrate`: `--to`,
            `--steps`, `--all-or-nothing`, `--adopt` and the rest.
            """
        )
        try ofFailures(&page)
        ofCopies(&page)
        #expect(!page.text.contains("/tmp/"))
        try expectSnapshot(page.text, at: "Documentation/Rehearsing.md")
    }

    private func ofFailures(_ page: inout CommandPage) throws {
        page.say(
            """
            ## A report for the author

            The person with the database often isn't the author of the migrations. `--report FILE` writes what
            the author needs: versions, sizes, times, and which migration or check fails. It has no value of a
            row, no key, no path, and of the schema only the names of migrations, checks and tables. Read it
            before you send it. An existing file is never replaced, and only you can read the new one.
            """
        )
        try page.write(
            "0004_one_order_a_total",
            up: """
                INSERT INTO orders (customer, total) VALUES ('nobody', 120);
                CREATE UNIQUE INDEX orders_total ON orders (total);
                """,
            down: "DROP INDEX orders_total;"
        )
        try page.run(
            "migrationkit-cli rehearse --report report.txt",
            "cat report.txt",
            "migrationkit-cli status"
        )
        page.say(
            """
            The error and the exit code are those that `migrate` would have had. An error of SQLite is in the
            report as its number, without its message, which could name what it is about.
            """
        )
    }

    private func ofCopies(_ page: inout CommandPage) {
        page.say(
            """
            ## What is copied

            - The copy is the database at one instant, with what its write-ahead log has committed. Other
              programs go on using the database. In WAL mode they may write at any time; otherwise a commit
              waits while the pages are copied.
            - The copy has the same key, so it is encrypted as the database is, and the same journal mode. Its
              mode is 0600. It is beside the database, or in the folder of `--in`.
            - Before anything is copied, the folder must have room for it. Room for what the migrations need
              beyond that is found out by the rehearsal.
            - Afterwards the copy is removed, with its journals, also after an error, Ctrl-C or SIGTERM. What a
              second Ctrl-C, a `kill -9` or a power cut leaves is as encrypted as the database, and the next
              rehearsal with the same folder removes it: hidden folders such as `.notes.db-writing-1c0ffee`.
            - Of the database, nothing changes: neither its file, its log and its locks, nor an interrupted
              rotation of its key.
            - Nothing is copied if nothing is pending, or if `migrate` would refuse the database before its
              first migration, such as one that can't be written.

            ## What is run

            The migrations, with their [checks](Checks.md) and the folder of checks, with a program's own hooks
            and verification, each in its transaction, as in `migrate`. Then everything that `verify --full`
            checks in the content: every page's HMAC, indexes, rows, full-text indexes, the schema and the
            ledger. If that finds something, the exit code is 2. It may have been there before:
            `verify --full` on the database itself tells.

            A migration that reaches out of the database, such as one that attaches another file or is code
            that sends something, does so in a rehearsal, too.

            ## What is measured

            | name | in JSON | what it is |
            | --- | --- | --- |
            | rollback journal, write-ahead log | `room.journal` | the largest size of the files `-journal`, `-wal` and `-shm` together |
            | temporary files | `room.temporary` | the largest size of the encrypted temporary files: what is sorted, and temporary tables. The first 32 MB of the process are in memory, and count as nothing |
            | room | `room.bytes` | the most of both at one moment, and of what the database's own file has grown by then |

            The sizes are read at each statement, ten times a second while one runs, before and after each
            commit, and a hundred times a second besides. A peak between two of these isn't seen. A file that
            a migration itself writes elsewhere isn't counted. A migration's own room is what there was while
            it ran, also of what the migrations before it have left: their journal or log, and the growth of
            the file.

            The copy has just been written, so the system has it in memory. A database that was not read for
            some time is slower by the time that its disk takes to read it once.

            ## In Swift

            `runner.rehearse(in:)` of the library `MigrationKitRescue` returns the same as a `RehearsalReport`.
            A run that fails on the copy is in its `failure`. `asyncRun` runs it in an asynchronous program:

            ```swift
            let report = try await asyncRun { try runner.rehearse(in: database) }
            print(report.isSuccessful, report.migrationSeconds, report.room.byteCount)
            ```

            `migrate --dry-run` needs no copy and no room for one: it runs everything in the database itself,
            in one transaction, and undoes it. Nobody can write meanwhile. From the first migration on that doesn't
            run in a transaction, it only names them.
            """
        )
    }
}
