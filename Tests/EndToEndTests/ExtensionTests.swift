import Foundation
import TestSupport
import Testing

/// A schema that needs a function, a collation and a tokenizer which only the app has, or an extension
/// of SQLite.
@Suite struct ExtensionTests {
    private let tool: Tool

    private static let source = """
        #include <sqlcipher/sqlite3ext.h>
        #include <string.h>
        SQLITE_EXTENSION_INIT1

        static void shout(sqlite3_context *context, int count, sqlite3_value **values) {
            char *loud = sqlite3_mprintf("%s!", sqlite3_value_text(values[0]));
            sqlite3_result_text(context, loud, -1, sqlite3_free);
        }

        static int backwards(void *data, int n, const void *left, int m, const void *right) {
            int order = memcmp(left, right, n < m ? n : m);
            return -(order ? order : n - m);
        }

        int sqlite3_extension_init(sqlite3 *db, char **message, const sqlite3_api_routines *api) {
            SQLITE_EXTENSION_INIT2(api);
            sqlite3_create_function(
                db, "shout", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, 0, shout, 0, 0
            );
            sqlite3_create_collation(db, "backwards", SQLITE_UTF8, 0, backwards);
            fts5_api *search = 0;
            fts5_tokenizer tokenizer;
            void *data;
            sqlite3_stmt *statement = 0;
            sqlite3_prepare_v2(db, "SELECT fts5(?1)", -1, &statement, 0);
            sqlite3_bind_pointer(statement, 1, &search, "fts5_api_ptr", 0);
            sqlite3_step(statement);
            sqlite3_finalize(statement);
            search->xFindTokenizer(search, "unicode61", &data, &tokenizer);
            return search->xCreateTokenizer(search, "words", data, &tokenizer, 0);
        }
        """

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.folder.write("app.c", Self.source.utf8)
        let compiled = try TestSupport.run(
            "/usr/bin/env",
            ["clang", "-shared", "-fPIC", "-o", extensionPath, tool.folder.path("app.c")],
            environment: tool.environment
        )
        try #require(compiled.status == 0, "\(compiled)")
        try tool.write(
            "0001_app",
            up: """
                CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT);
                CREATE INDEX note_loud ON note (shout(text));
                CREATE TABLE name (id INTEGER PRIMARY KEY, text TEXT COLLATE backwards UNIQUE);
                CREATE TABLE rule (id INTEGER PRIMARY KEY, text TEXT CHECK (shout(text) <> 'x!'));
                CREATE VIRTUAL TABLE search USING fts5 (text, tokenize = 'words');
                CREATE TABLE plain (
                    id INTEGER PRIMARY KEY, text TEXT UNIQUE CHECK (text <> 'x')
                );
                INSERT INTO note (text) VALUES ('a'), ('b');
                INSERT INTO name (text) VALUES ('a'), ('b');
                INSERT INTO rule (text) VALUES ('a');
                INSERT INTO search (text) VALUES ('hello');
                INSERT INTO plain (text) VALUES ('a');
                """
        )
    }

    private var extensionPath: String { tool.folder.path("app.so") }

    private func onStore(_ command: String, _ more: String...) throws -> ProcessResult {
        try tool.run(
            [command] + tool.opening + ["--migrations", tool.migrations]
                + ["--extension", extensionPath] + more
        )
    }

    private func withExtension(_ command: String, _ more: String...) throws -> ProcessResult {
        try tool.run([command] + tool.opening + ["--extension", extensionPath] + more)
    }

    @Test func whatOnlyTheAppHasIsNamedAndTheRestIsChecked() throws {
        let created = try onStore("migrate")
        #expect(created.status == 0, "\(created)")
        #expect(created.stdout.contains("Verified. "), "\(created)")

        // A table beside them changes without the app.
        try tool.write("0002_plain", up: "ALTER TABLE plain ADD COLUMN note TEXT;")
        let migrated = try tool.onStore("migrate")
        #expect(migrated.status == 0, "\(migrated)")
        #expect(migrated.stdout.contains("Verified, except what follows."), "\(migrated)")
        for line in [
            "rule needs the function 'shout'", "name needs the collation 'backwards'",
            "search needs the tokenizer 'words'",
        ] {
            #expect(migrated.stdout.contains("not checked: \(line)"), "\(migrated)")
        }
        #expect(!migrated.stdout.contains("plain needs"), "\(migrated)")

        for arguments in [[], ["--full"]] {
            let verified = try tool.run(
                ["verify"] + tool.opening + ["--migrations", tool.migrations] + arguments
            )
            #expect(verified.status == 0, "\(verified)")
            #expect(verified.stdout.contains("search needs the tokenizer 'words'"), "\(verified)")
        }
        let all = try onStore("verify", "--full")
        #expect(all.status == 0, "\(all)")
        #expect(!all.stdout.contains("needs the"), "\(all)")
    }

    @Test func whatIsMissingIsSaidBeforeTheRunAndAfterItsFailure() throws {
        let needs = [
            "note: 0001_app.sql:3: needs the function 'shout', which SQLite doesn't have",
            "note: 0001_app.sql:4: needs the collation 'backwards'",
            "note: 0001_app.sql:6: needs the tokenizer 'words'",
        ]
        for arguments in [["--dry-run"], []] {
            let failed = try tool.run(
                ["migrate"] + tool.opening + ["--migrations", tool.migrations] + arguments
            )
            #expect(failed.status == 1, "\(failed)")
            for need in needs { #expect(failed.stderr.contains(need), "\(failed)") }
            #expect(failed.stderr.contains("no such function: shout"), "\(failed)")
            #expect(failed.stderr.contains("--extension, or let the app"), "\(failed)")
        }
        let migrated = try onStore("migrate")
        #expect(migrated.status == 0 && migrated.stderr == "", "\(migrated)")
    }

    /// A fault of a table that can be checked is found beside one that can't.
    @Test func aFaultBesideThemIsFound() throws {
        #expect(try onStore("migrate").status == 0)
        _ = try tool.shell(
            "PRAGMA ignore_check_constraints = ON; INSERT INTO plain (text) VALUES ('x');"
        )
        for arguments in [[], ["--full"]] {
            let verified = try tool.run(
                ["verify"] + tool.opening + ["--migrations", tool.migrations] + arguments
            )
            #expect(verified.status == 2, "\(verified)")
            #expect(verified.stdout.contains("CHECK constraint failed in plain"), "\(verified)")
        }
    }

    @Test func theExtensionServesEveryConnection() throws {
        #expect(try onStore("migrate").status == 0)
        let query = try withExtension(
            "query",
            "SELECT shout(text) FROM note WHERE id = 1 UNION ALL SELECT text FROM search('hello')"
        )
        #expect(query.stdout.contains("a!") && query.stdout.contains("hello"), "\(query)")

        // An index by the function is built anew.
        let rekeyed = try withExtension(
            "rekey",
            "--new-password-file",
            tool.folder.path("password"),
            "--new-raw-key",
            "--page-size",
            "8192"
        )
        #expect(rekeyed.status == 0, "\(rekeyed)")
        let linted = try tool.run("lint", "--migrations", tool.migrations)
        #expect(linted.stdout.contains("'shout'"), "\(linted)")
        let lint = try tool.run(
            "lint",
            "--migrations",
            tool.migrations,
            "--extension",
            extensionPath
        )
        #expect(!lint.stdout.contains("'shout'"), "\(lint)")
        let without = try tool.run("test", "--migrations", tool.migrations)
        #expect(without.status == 3 && without.stdout.contains("shout"), "\(without)")
        let test = try tool.run(
            "test",
            "--migrations",
            tool.migrations,
            "--extension",
            extensionPath
        )
        #expect(test.status == 0, "\(test)")
    }

    @Test func whatIsNoExtensionIsRefused() throws {
        try tool.folder.write("text.so", "text".utf8)
        for name in ["missing.so", "text.so", "migrations"] {
            let result = try tool.run(
                ["migrate"] + tool.opening + ["--migrations", tool.migrations]
                    + ["--extension", tool.folder.path(name), "--json"]
            )
            #expect(result.status == 66, "\(result)")
            #expect(try result.jsonError()["code"] as? String == "unusableExtension")
        }
        #expect(try !tool.folder.names.contains("store.db"))
    }
}
