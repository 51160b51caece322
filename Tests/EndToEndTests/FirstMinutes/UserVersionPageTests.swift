import TestSupport
import Testing

/// The page about `PRAGMA user_version` says what the tool prints now. To write it anew, run this with
/// `TESTS_RECORD_SNAPSHOTS=1`.
@Suite struct UserVersionPageTests {
    /// The database that an app's code has made: at version 7, with rows.
    private static let code = """
        CREATE TABLE note (id INTEGER PRIMARY KEY, title TEXT NOT NULL);
        CREATE TABLE tag (note INTEGER NOT NULL REFERENCES note (id) ON DELETE CASCADE, name TEXT NOT NULL);
        CREATE INDEX tag_name ON tag (name);
        INSERT INTO note (title) VALUES ('Milk'), ('Bread');
        PRAGMA user_version = 7;
        """

    @Test func pageIsWhatTheToolPrints() throws {
        var page = try CommandPage(
            """
            # From PRAGMA user_version

            Most apps begin with code such as `if version < 7 { … }`, which counts the schema's version in
            [`PRAGMA user_version`](https://sqlite.org/pragma.html#pragma_user_version). Their databases are taken
            over as they are, each at its own version.

            A test makes this page: it runs the commands, and shows what they print. The app's database
            `notes.db` is at version 7, and its key is in the secret store.

            """
        )
        try page.runUnseen(
            "migrationkit-cli key generate --keychain-service com.example.Notes --keychain-account main"
        )
        try page.folder.write("app.sql", Self.code.utf8)
        try page.runUnseen("sqlite3 notes.db <app.sql")
        try page.runUnseen("cp notes.db users.db")
        for name in ["notes", "users"] {
            let encrypted = try page.runUnseen(
                """
                migrationkit-cli encrypt --db-path \(name).db \
                --keychain-service com.example.Notes --keychain-account main
                """
            )
            try #require(encrypted.status == 0, "\(encrypted)")
        }
        page.say(
            """
            ## Once, in the project

            `init` makes the first migration of the schema that one database has. **Take a database of the oldest
            version that users have.** Here all are at 7; [from older versions](#from-older-versions) begins with one
            at 5.
            """
        )
        try page.run(
            """
            migrationkit-cli init --from-user-version --db-path notes.db --keychain-service com.example.Notes
            """,
            "cat migrations/0007_schema.sql"
        )
        page.say(
            """
            The schema has become the first migration. It has the number that the code has counted, so the
            next one is 8. In `notes.db` it is recorded as applied, and didn't run; a new database begins with
            it. It has no way back, which would drop every table.

            - **Rows** that the code inserts into a new database go into the file, too: it has the schema alone. WAL
              mode isn't part of it either.
            - A raw key needs `--raw-key`, and a plaintext database `--no-encryption`; `cipher-compatibility` in
              `migrationkit.toml` names an older SQLCipher.

            ### From older versions

            If the oldest database in use is at 5, `init --from-user-version --db-path v5.db` writes
            `0005_schema.sql`. What the code did from there on are the next files, each with the number that the
            code has set, such as `0006_add_colour.sql`:

            ```sql
            -- migrate:up
            ALTER TABLE note ADD COLUMN colour TEXT;

            -- migrate:older works
            PRAGMA user_version = 6;

            -- migrate:down
            ALTER TABLE note DROP COLUMN colour;
            ```

            `migrate --adopt user_version --dry-run` on a database of each version says whether the files give its
            schema. If you began with a newer one: remove `migrationkit.toml` and the folder, begin anew, and take
            back the record of the newer database with `repair --forget 0007_schema --db-path notes.db`.

            ## At each launch

            The next change is a file, and no code:
            """
        )
        try page.write(
            "0008_add_pinned",
            up: "ALTER TABLE note ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;",
            down: "ALTER TABLE note DROP COLUMN pinned;"
        )
        try page.run(
            "cat migrations/0008_add_pinned.sql",
            "migrationkit-cli migrate --adopt user_version",
            "migrationkit-cli migrate --adopt user_version --db-path users.db",
            "migrationkit-cli migrate --adopt user_version --db-path new.db",
            "migrationkit-cli migrate --adopt user_version --db-path users.db"
        )
        page.say(
            """
            The same command is right for each database: one that the code has migrated is taken over, a new
            one is made, and one that has a record is only migrated. Without the option, a database that could
            be taken over is refused; one with another schema is migrated, after a warning.

            Before anything is recorded, the migrations up to the number run on a new database in memory, and
            the schemas are compared. A database that the code has left otherwise is refused, and not changed:
            """
        )
        let code = Self.code.replacing("CREATE INDEX", with: "-- CREATE INDEX")
        try page.folder.write("other.sql", code.utf8)
        try page.runUnseen("sqlite3 other.db <other.sql")
        try page.runUnseen("cp migrationkit.toml kept; sed -i /keychain/d migrationkit.toml")
        try page.run(
            "migrationkit-cli migrate --adopt user_version --db-path other.db --no-encryption"
        )
        try page.runUnseen("mv kept migrationkit.toml")
        page.say(
            """
            `baseline 0007_schema` records without comparing, and `repair --schema` then writes the SQL that
            brings the database to the schema.

            ## What becomes of the number

            It stays as the code has left it; only the first file sets it, for new databases. An older version of the
            app that still counts opens a database of version 8 as if it were at 7, and may do its steps
            again. If users may go back to one, put `PRAGMA user_version = N` into each file that you write: code that
            refuses higher numbers does so. `lint` says which changes an older version notices
            ([older versions](OlderVersions.md)).

            Take the code out when the command is in. Two that migrate would not know of each other.

            ## In Swift

            ```swift
            let folder = try MigrationFolder(path: "migrations")
            let runner = try GRDBMigrationRunner(steps: folder.steps)
            if try runner.appliedMigrationIdentifiers(in: writer).isEmpty {
                do {
                    try runner.baseline(in: writer) { db in
                        try folder.identifiersApplied(by: .userVersion, in: db)
                    }
                } catch MigrationKitError.baselineOnMigratedDatabase {
                    // Another process of the app was faster.
                }
            }
            try runner.migrate(in: writer)
            ```

            Steps in Swift instead of a folder: give `baseline(in:upTo:)` the identifier of the step that the number
            stands for. `runner.drift(in: writer)` then compares the schemas.
            """
        )
        #expect(!page.text.contains("/tmp/"))
        try expectSnapshot(page.text, at: "Documentation/UserVersion.md")
    }
}
