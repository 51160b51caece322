import TestSupport
import Testing

/// The page about batches says what the tool prints now. To write it anew, run this with
/// `TESTS_RECORD_SNAPSHOTS=1`.
@Suite struct BatchesPageTests {
    @Test func pageIsWhatTheToolPrints() throws {
        var page = try CommandPage(
            """
            # Batches

            A statement that changes millions of rows holds the database for minutes, and its log or journal
            grows with it. Run in batches, each has a transaction of its own: the app reads and writes in
            between, and what is done stays done.

            A test makes this page: it runs the commands, and shows what they print.

            """
        )
        try page.runUnseen(
            "migrationkit-cli init --keychain-service com.example.Notes --db-path notes.db"
        )
        try page.runUnseen("migrationkit-cli key generate")
        try page.write(
            "0001_create_notes",
            up: """
                CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
                INSERT INTO notes (body) SELECT 'note ' || i FROM n;
                """,
            down: "DROP TABLE notes;"
        )
        try page.write(
            "0002_add_size",
            up: "ALTER TABLE notes ADD COLUMN size INTEGER;",
            down: "ALTER TABLE notes DROP COLUMN size;"
        )
        try page.runUnseen("migrationkit-cli migrate")
        page.say(
            """
            ## In a folder

            `-- migrate:batch` stands above the statement. The migration that adds the column comes before
            it, and the one that needs all values comes after it.
            """
        )
        try page.write(
            "0003_fill_size",
            up: """
                -- migrate:batch rows=500
                UPDATE notes SET size = length(body) WHERE size IS NULL;

                -- migrate:check
                -- every note has its size
                SELECT rowid FROM notes WHERE size IS NOT length(body);
                """,
            down: "UPDATE notes SET size = NULL;"
        )
        try page.run(
            "cat migrations/0003_fill_size.sql",
            "migrationkit-cli plan",
            "migrationkit-cli migrate",
            "migrationkit-cli history"
        )
        page.say(
            """
            A batch is a range of the table's key. If others have written meanwhile, the statement goes over
            the table again, until it finds nothing more to change: their rows are done, too. How far it came
            is kept in the database, with each batch. After Ctrl-C, a kill or a power cut, `migrate` goes on
            there, and `status` says `begun` until then.

            If a row is refused, the batches before it stay:
            """
        )
        try page.write(
            "0004_shout",
            up: """
                -- migrate:batch rows=500
                UPDATE notes SET body = upper(body) || iif(id = 501, NULL, '')
                WHERE body GLOB '*[a-z]*';
                """,
            down: "UPDATE notes SET body = lower(body);"
        )
        try page.run("migrationkit-cli migrate", "migrationkit-cli status")
        page.say(
            """
            ## Which statements

            `UPDATE`, `DELETE`, and `INSERT` with a `SELECT`. The rows are those of the table that is changed
            or, for an `INSERT`, of the first table that its `SELECT` reads; it needs a rowid or a primary
            key. `ORDER BY`, `LIMIT`, `RETURNING`, `GROUP BY`, `DISTINCT`, `UNION` and aggregates are refused
            when the folder is read, since a batch can't compute what depends on all rows.

            The condition must no longer hold for a row that is done, whatever its values are: for
            `size = length(body) WHERE size IS NULL`, a body that is NULL would never be done. Each batch runs
            twice, and if it changes a row again, it is undone. `lint` finds that before, on generated rows
            ([`not-repeatable`](lint/not-repeatable.md)):
            """
        )
        try page.runUnseen("rm migrations/0004_shout.sql")
        try page.runUnseen("migrationkit-cli repair --forget 0004_shout --yes")
        try page.runUnseen("migrationkit-cli rollback")
        try page.write(
            "0003_fill_size",
            up: """
                -- migrate:batch
                UPDATE notes SET size = coalesce(size, 0) + length(body);
                """,
            down: "UPDATE notes SET size = NULL;"
        )
        try page.run("migrationkit-cli lint", "migrationkit-cli migrate")
        page.say(
            """
            - A batch sees what those before it have changed. So a statement that reads the table that it
              changes is refused, other than row by row; an `INSERT` may ask with `EXISTS` or `IN` whether a
              row is there. `OR REPLACE` is refused, since it may delete other rows.
            - A subquery such as `IN (SELECT …)` runs again in each batch. If it reads much, write `EXISTS`, which
              looks up each row in an index.
            - Foreign keys are enforced in each batch. If another table would be changed by one (`CASCADE`,
              `SET NULL`), the batch is undone, and the run stops: change that table's rows first. If the table
              of the statement has triggers, it is refused before the first batch.
            - What triggers do counts as in the whole statement: rows that they add or reset aren't visited
              again.
            - If the text of a begun migration is changed, it begins anew, and what the old text has done
              stays. If its file is gone on purpose, `repair --forget` removes it from the record.
            - For a version of the program that doesn't have it, a begun migration is like an applied one:
              [older versions](OlderVersions.md) work with it or don't.
            - A migration with a batch has only such statements, each below its own `-- migrate:batch`, and
              parts with [checks](Checks.md). What it requires is checked before the first batch, what it
              checks after the last one.
            - The part that takes it back runs in one transaction.
            - With `--all-or-nothing`, in a dry run and for other tools, the statement runs as a whole, with
              the same result, unless a trigger makes rows depend on each other, which `lint` finds, too.
            - If a later way through the table changes no fewer rows than the one before, three times, it is
              stopped (`batchNeverEnds`): another program keeps writing such rows. Update that program first.

            ## Options

            | option | default | |
            | --- | --- | --- |
            | `rows=5000` | as many as take some hundredths of a second, or as long as the batch takes without them | how many rows a batch has at most |
            | `pause=20ms` | 30 ms while others write; otherwise about every 0.3 s | how long to wait between two batches at least |
            | `log=32MB` | 64 MB, at least 8 MB | how large the write-ahead log may become: at the limit, a run waits until nobody reads what is in it, as long as for a lock, and then stops with `logStaysFull` |

            ## In Swift

            ```swift
            MigrationStep(
                identifier: "0003_fill_size",
                batched: [.backfill("size", of: "notes", with: "length(body)")],
                rollbackSQL: "UPDATE notes SET size = NULL"
            )
            ```

            `MigrationBatch` takes any such statement, and the options. An app's launch needn't wait for all of
            it: with `MigrationOptions.budget`, a run spends so many seconds with batches, and the next one goes
            on. The report has the step among the pending ones until it is done, `overview(of:)` has it in
            `begun`, and events report the rows and the time that is left. The app's own writes to the same
            pool take their turn between two batches.
            """
        )
        #expect(!page.text.contains("/tmp/"))
        try expectSnapshot(page.text, at: "Documentation/Batches.md")
    }
}
