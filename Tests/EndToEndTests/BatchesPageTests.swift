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
            the table again, until it finds nothing more to change. What they have committed since then is done
            in the transaction that records the migration, and the checks run in it again: no row of theirs is
            left out. How far it came is kept in the database, with each batch. After Ctrl-C, a kill or a power
            cut, `migrate` goes on there, and `status` says `begun` until then.

            A begun migration counts as applied, since some of its rows are changed. `rollback` and `redo` take
            it back first, also if a later one was applied out of order, and `downgrade` does, too: the SQL for
            it is kept in the database when it begins. If there is none, they are refused, and name it. A folder
            that lacks it is refused, as one that lacks an applied migration is.

            A row that is refused in the first batch leaves the migration pending, and nothing changed. If it
            is in a later one, the batches before it stay:
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
              changes is refused, other than row by row, also if it reads it through a view or a full-text
              index. An `INSERT` may ask with `EXISTS` or `IN` whether the row is there that it adds, by the key
              of the row that it reads. Functions that count changes, such as `total_changes()`, are refused,
              also in a trigger, and so is the time (`datetime('now')`), which is one for the whole statement
              and another one for each batch: write a constant. A time that a trigger or a default writes is
              that of the batch.
            - `OR REPLACE` is refused, since it may delete other rows. Which of two rows with one key is kept by
              `OR IGNORE`, `ON CONFLICT`, or a key that is declared so, depends on their order. So an `INSERT`
              may have such a rule if each unique key of its table gets the key of the row that it reads, and it
              reads no further table; an `UPDATE` if it changes no unique key. Numbers that SQLite gives to rows
              are the same if the whole statement takes them by their key, which is looked up.
            - `UPDATE … FROM` may have one table there, with `=` and a unique key of it in the condition: of
              several rows for one, SQLite would take any.
            - A key must be a number, a blob, or text in UTF-8 without NUL characters. Infinite numbers, and any
              text as a key in a database in UTF-16, are refused. All keys of a table WITHOUT ROWID are looked
              at before the first batch; other tables go by their rowid.
            - A subquery such as `IN (SELECT …)` runs again in each batch. If it reads much, write `EXISTS`, which
              looks up each row in an index.
            - Foreign keys are enforced in each batch. If another table would be changed by one (`CASCADE`,
              `SET NULL`), the statement is refused before the first batch: change that table's rows first. If
              others add such rows meanwhile, the batch is undone, and the run stops; if the table of the
              statement has triggers, it is refused in any case. So are deletions from, and copies into, a table
              whose rows refer to each other.
            - A trigger may write what the statement doesn't read: a log, a full-text index, another column. One
              that changes what the statement reads, such as a trigger that keeps one main address for each
              person, may reach rows of other batches, and is refused with its name. So is a trigger that
              changes rows by what is there (`count = count + 1`) if the whole statement would take the rows in
              another order than by their key.
            - Of several statements in a migration, a later one may not change what an earlier one reads: put it
              into a migration of its own. It may delete rows of the table that the earlier one changes: each of
              its batches runs the earlier one first. It may not delete rows that the earlier one copies: what
              others write between the two would be deleted without a copy. Delete in a later migration, with a
              condition that finds only what was copied, such as `WHERE EXISTS (SELECT 1 FROM archive AS a WHERE
              a.id = notes.id AND a.body IS notes.body)` with all columns, or do both without batches.
            - A row that others delete from the new table, while an `INSERT` runs in batches, comes back if its
              row in the old table is still there: the statement finds it missing. Let the app delete both.
            - If others change the schema meanwhile, the statements are judged again before the next batch: a
              trigger that may reach rows of other batches stops the run there.
            - If the text of a begun migration is changed, or its `migrate:batch` removed, `migrate` refuses it by
              name: some rows are as the old text made them. Put the old text back, or take it back: `rollback`
              uses the SQL that was kept when it began. One that has changed no row begins anew. A begun
              migration can't be renamed. If its file is gone on purpose, `repair --forget` removes it from
              the record, and what it has done stays.
            - For a version of the program that doesn't have it, a begun migration is like an applied one:
              [older versions](OlderVersions.md) work with it or don't.
            - Rows are counted as the statement itself changes them. What triggers add isn't counted.
            - A migration with a batch has only such statements, each below its own `-- migrate:batch`, and
              parts with [checks](Checks.md). What it requires is checked before the first batch, what it
              checks after the last one.
            - The part that takes it back runs in one transaction.
            - With `--all-or-nothing`, in a dry run and for other tools, the statement runs as a whole, with
              the same result: where that can't be proved, it is refused before the first batch, and `lint`,
              `plan` and a dry run say so. `plan` runs nothing, so it can't tell for a statement behind
              migrations that are pending, too.
            - If others keep writing rows that the statement is for, it doesn't go over the table for ever: what
              is left after some times is done in the transaction that records the migration.

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
