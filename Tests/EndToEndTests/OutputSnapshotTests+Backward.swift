import Foundation
import TestSupport

extension OutputSnapshotTests {
    /// Commands that take migrations back, and those on what is noted about them.
    static let backwardScenes = [
        Scene("rollback") { transcript in
            try transcript.writeNotes()
            try transcript.run("migrate")
            try transcript.run("rollback")
            try transcript.run("rollback --to 0001 --json")
            try transcript.run("rollback --all")
            try transcript.run("rollback")
            try transcript.run("rollback --json")
        },
        Scene("rollback-refused") { transcript in
            try transcript.writeNotes()
            try transcript.write("0004_drop_archive", up: "DELETE FROM folders WHERE id = 2;")
            try transcript.run("migrate --to 0004")
            try transcript.run("rollback --steps 2")
            try transcript.run("rollback --steps 2 --json")
            try transcript.run("rollback --to 0009")
            try transcript.run("rollback --to 000")
            try transcript.run("rollback --all --steps 1")
        },
        Scene("downgrade") { transcript in
            try transcript.writeNotes()
            let settings = "app-version = \"2.0\"\n"
            try transcript.tool.folder.write("migrationkit.toml", settings.utf8)
            try transcript.run("migrate --to 0001")
            try transcript.run("migrate --to 0002 --json")
            transcript.note("an older version has only the first migration")
            let folder = transcript.tool.migrations
            try FileManager.default.createDirectory(
                atPath: "\(folder)-2",
                withIntermediateDirectories: true
            )
            func move(_ name: String, _ from: String, _ to: String) throws {
                try FileManager.default.moveItem(
                    atPath: "\(from)/\(name).sql",
                    toPath: "\(to)/\(name).sql"
                )
            }
            let newer = ["0002_create_notes", "0003_add_overview"]
            for name in newer { try move(name, folder, "\(folder)-2") }
            try transcript.run("migrate")
            try transcript.run("migrate --json")
            try transcript.run("status")
            transcript.note("a step with which it may fail")
            try transcript.write(
                "0004_rename",
                up: "ALTER TABLE folders RENAME COLUMN name TO title; "
                    + "ALTER TABLE folders ADD COLUMN color TEXT DEFAULT 'red';",
                down: "ALTER TABLE folders DROP COLUMN color; "
                    + "ALTER TABLE folders RENAME COLUMN title TO name;"
            )
            for name in newer { try move(name, "\(folder)-2", folder) }
            try transcript.run("plan --json")
            try transcript.run("migrate --dry-run")
            try transcript.run("migrate --dry-run --json")
            try transcript.run("migrate --json")
            for name in newer + ["0004_rename"] { try move(name, folder, "\(folder)-2") }
            try transcript.run("migrate")
            try transcript.run("migrate --json")
            try transcript.run("status")
            try transcript.run("status --json")
            try transcript.run("plan --json")
            try transcript.run("downgrade --dry-run")
            try transcript.run("downgrade --dry-run --json")
            try transcript.run("downgrade")
            try transcript.run("downgrade --to 0009")
            try transcript.run("downgrade --dry-run --backup copy.db")
            try transcript.run("downgrade --to 0003 --yes --backup first.db --json")
            try transcript.run("downgrade --yes --backup second.db")
            try transcript.run("downgrade --yes")
            try transcript.run("downgrade --dry-run --json")
            try transcript.run("history")
            try transcript.run("history --json")
            for name in newer + ["0004_rename"] { try move(name, "\(folder)-2", folder) }
            try transcript.run("migrate --to 0003")
            try transcript.run("migrate --json")
            transcript.note("the author knows better")
            try transcript.write(
                "0005_index",
                up: "-- migrate:older breaks the app lists the indexes\n"
                    + "CREATE INDEX folders_title ON folders (title);",
                down: "DROP INDEX folders_title;"
            )
            try transcript.run("plan --json")
            try transcript.run("migrate --json")
            try transcript.run("redo --json")
        },
        Scene("redo") { transcript in
            try transcript.writeNotes()
            try transcript.run("migrate")
            try transcript.run("redo")
            try transcript.run("redo --steps 2")
            try transcript.run("redo --json")
            try transcript.run("rollback --all")
            try transcript.run("redo")
            try transcript.run("redo --json")
        },
        Scene("history") { transcript in
            try transcript.writeNotes()
            try transcript.run("migrate --to 0002")
            try transcript.run("rollback")
            try transcript.run("history")
            try transcript.run("history --json")
            try transcript.shell("DELETE FROM grdb_migrationkit_journal;")
            try transcript.run("history")
            try transcript.run("history --json")
        },
        Scene("repair") { transcript in
            try transcript.writeNotes()
            try transcript.run("migrate")
            transcript.note("0003 and 0002 get other texts")
            try transcript.write(
                "0003_add_overview",
                up: "CREATE VIEW overview AS SELECT 1 AS notes;"
            )
            try transcript.write("0002_create_notes", up: "CREATE TABLE notes (id INTEGER);")
            try transcript.run("migrate")
            try transcript.run("repair 0003")
            try transcript.run("repair 0003 --json")
            try transcript.run("repair 0003 --yes")
            try transcript.run("repair 0002 0003 --yes --json")
            try transcript.run("repair 0002 --yes")
            try transcript.run("repair 0002 --yes --json")
            try transcript.run("history")
        },
        Scene("repair-renamed") { transcript in
            try transcript.writeNotes()
            try transcript.write("0004_drop_archive", up: "DELETE FROM folders WHERE id = 2;")
            try transcript.run("migrate")
            transcript.note("0003_add_overview becomes 0003_overview, and 0004 is gone")
            let folder = transcript.tool.migrations
            try FileManager.default.moveItem(
                atPath: "\(folder)/0003_add_overview.sql",
                toPath: "\(folder)/0003_overview.sql"
            )
            try FileManager.default.removeItem(atPath: "\(folder)/0004_drop_archive.sql")
            try transcript.run("status")
            try transcript.run("migrate")
            try transcript.run("repair --rename 0003_add_overview=0003")
            try transcript.run("repair --rename 0003_add_overview=0003 --yes")
            try transcript.run("repair --forget 0003 --yes")
            try transcript.run("repair --forget 0003_overview --yes")
            try transcript.run("repair --forget 0004_drop_archive --yes --json")
            try transcript.run("status")
            try transcript.run("history")
            try transcript.run("history --json")
            transcript.note("0003_overview becomes 0003_add_overview again")
            try FileManager.default.moveItem(
                atPath: "\(folder)/0003_overview.sql",
                toPath: "\(folder)/0003_add_overview.sql"
            )
            try transcript.run("repair --rename 0003_overview=0003 --yes --json")
        },
        Scene("other-tool") { transcript in
            try transcript.writeNotes()
            try transcript.run("migrate --to 0002")
            try transcript.shell(
                "DROP TABLE grdb_migrations; DROP TABLE grdb_migrationkit_journal; CREATE TABLE schema_migrations (version varchar(128) PRIMARY KEY); INSERT INTO schema_migrations VALUES ('0001'), ('0002');"
            )
            try transcript.run("status")
            try transcript.run("status --json")
            try transcript.run("plan --to 0001")
            try transcript.run("plan --to 0001 --json")
            try transcript.run("verify --json")
            try transcript.run("migrate --dry-run --steps 0")
            try transcript.run("migrate --dry-run --steps 0 --json")
            try transcript.run("migrate")
            try transcript.run("migrate --json")
            try transcript.run("rollback")
            try transcript.run("migrate --adopt dbmate --dry-run")
            try transcript.write("10_add_colors", up: "ALTER TABLE notes ADD COLUMN color TEXT;")
            try transcript.write("9_add_themes", up: "ALTER TABLE notes ADD COLUMN theme TEXT;")
            try transcript.run("migrate --adopt dbmate --dry-run --json")
            try transcript.run("migrate --adopt dbmate --to 0003 --json")
            try transcript.shell("DELETE FROM grdb_migrations;")
            try transcript.run("baseline --adopt dbmate --json")
            try transcript.run("baseline --adopt dbmate")
        },
        Scene("counter") { transcript in
            try transcript.writeNotes()
            try transcript.run("migrate --to 0002")
            try transcript.shell(
                "DROP TABLE grdb_migrations; DROP TABLE grdb_migrationkit_journal; CREATE TABLE schema_version (version INTEGER); INSERT INTO schema_version VALUES (2);"
            )
            try transcript.run("status")
            try transcript.run("status --json")
            try transcript.run("verify --json")
            try transcript.run("migrate")
            try transcript.run("baseline 0001")
            try transcript.run("repair --applied 0002 --yes --json")
        },
        Scene("baseline") { transcript in
            try transcript.writeNotes()
            try transcript.run("migrate")
            try transcript.shell(
                "DELETE FROM grdb_migrations; DELETE FROM grdb_migrationkit_journal;"
            )
            try transcript.run("migrate")
            try transcript.run("baseline 0002")
            try transcript.run("status")
            try transcript.run("baseline 0003")
            try transcript.shell("DELETE FROM grdb_migrations;")
            try transcript.run("baseline 0003 --json")
            try transcript.run("history")
        },
        Scene("adopt") { transcript in
            try transcript.writeNotes()
            try transcript.run("migrate --to 0002")
            try transcript.shell("DELETE FROM grdb_migrations;")
            try transcript.run("baseline --adopt dbmate")
            try transcript.shell(
                "CREATE TABLE schema_migrations (version varchar(128) PRIMARY KEY);"
            )
            try transcript.run("migrate --adopt dbmate --steps 0")
            try transcript.shell("INSERT INTO schema_migrations VALUES ('0001'), ('0002');")
            try transcript.run("baseline --adopt dbmate")
            try transcript.shell("DELETE FROM grdb_migrations;")
            try transcript.run("baseline --adopt dbmate --json")
            try transcript.shell("DELETE FROM grdb_migrations;")
            try transcript.run("migrate --adopt dbmate --to 0003")
            try transcript.run("rollback")
            try transcript.shell("DELETE FROM grdb_migrations;")
            try transcript.run("migrate --adopt dbmate --json")
            try transcript.run("migrate --adopt dbmate")
        },
    ]
}
