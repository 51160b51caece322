import Foundation
import TestSupport
import Testing

extension RefusalTests {
    private static let up = "-- migrate:up\nCREATE TABLE note (id INTEGER);\n"
    private static let plain = "CREATE TABLE note (id INTEGER);\n"

    /// What is wrong with a folder, or with the names in it.
    static let refusedFolders = [
        RefusalCase("no-such-folder", [:]).with { tool in
            try FileManager.default.removeItem(atPath: tool.migrations)
        },
        RefusalCase("not-a-folder", [:]).with { tool in
            try FileManager.default.removeItem(atPath: tool.migrations)
            try tool.folder.write("migrations", [])
        },
        RefusalCase("empty-folder", ["README.md": "Nothing yet.\n"]),
        RefusalCase(
            "several-histories",
            ["accounts/0001_a.sql": up, "messages/0001_b.sql": up, "README.md": "Two.\n"]
        ),
        RefusalCase("mixed-forms", ["0001_a.sql": up, "0002_b.up.sql": plain]),
        RefusalCase("mixed-markers", ["0001_a.sql": up, "0002_b.sql": "-- +goose Up\n" + plain]),
        RefusalCase("unexpected-name", ["0001_a.sql": up, "schema.sql": plain]),
        RefusalCase("unexpected-name-in-folder", ["0001_a/up.sql": plain, "0001_a/redo.sql": ""]),
        RefusalCase("repeatable", ["V1__a.sql": plain, "R__views.sql": plain]),
        RefusalCase("baseline", ["V1__a.sql": plain, "B2__base.sql": plain]),
        RefusalCase("script-configuration", ["V1__a.sql": plain, "V1__a.sql.conf": ""]),
        RefusalCase("code", ["0001_a.sql": "-- +goose Up\n" + plain, "0002_b.go": ""]),
        RefusalCase("duplicate-version", ["1_a.sql": up, "01_b.sql": up]),
        RefusalCase("down-without-up", ["1_a.up.sql": plain, "2_b.down.sql": plain]),
        RefusalCase("down-without-up-in-folder", ["1_a/down.sql": plain]),
        RefusalCase("down-without-up-of-flyway", ["V1__a.sql": plain, "U2__b.sql": plain]),
        RefusalCase("pipe", [:]).with { tool in
            try #require(mkfifo(tool.folder.path("migrations/0001_a.sql"), 0o600) == 0)
        },
        RefusalCase("folder-by-the-name-of-a-file", [:]).with { tool in
            try tool.folder.makeFolder("migrations/0001_a.sql")
        },
        RefusalCase("dangling-link", [:]).with { tool in
            try FileManager.default.createSymbolicLink(
                atPath: tool.folder.path("migrations/0001_a.sql"),
                withDestinationPath: "nowhere.sql"
            )
        },
    ]

    /// What is wrong with the text of a file, whatever its form.
    static let refusedTexts = [
        RefusalCase("not-utf8", bytes: Array("-- migrate:up\n-- Z".utf8) + [0xE9, 0x0A]),
        RefusalCase("nul-character", up + "SELECT '\u{0}';\n"),
        RefusalCase("unterminated-literal", up + "INSERT INTO note VALUES ('it''s);\n"),
        RefusalCase("unterminated-comment", up + "/* No end.\nSELECT 1;\n"),
        RefusalCase("unterminated-parenthesis", up + "CREATE TABLE tag (\n  id CHECK (id > 0\n;\n"),
        RefusalCase(
            "unterminated-trigger",
            up + "CREATE TRIGGER t AFTER INSERT ON note BEGIN\n  SELECT 1;\n"
        ),
        RefusalCase("draft", "-- migrate:up\n\n\n-- migrate:down\n\n"),
        RefusalCase(
            "metadata",
            [
                "1_a/up.sql": plain, "1_a/metadata.toml": "# Slow.\nrun_in_transaction = no\n",
            ]
        ),
    ]

    /// Markers that don't fit.
    static let refusedMarkers = [
        RefusalCase("missing-up-marker", "-- migrate:down\nDROP TABLE note;\n"),
        RefusalCase("missing-up-marker-of-goose", "-- +goose Down\nDROP TABLE note;\n"),
        RefusalCase(
            "missing-down-marker",
            up + "-- migrate:down\nDROP TABLE note;\n-- migrate:up\nSELECT 1;\n"
        ),
        RefusalCase("second-up", up + "-- migrate:up\nCREATE TABLE tag (id);\n"),
        RefusalCase(
            "second-up-of-goose",
            "-- +goose Up\n\(plain)-- +goose Down\nDROP TABLE note;\n-- +goose Up\nSELECT 1;\n"
        ),
        RefusalCase("down-before-up", "-- migrate:down\nDROP TABLE note;\n" + up),
        RefusalCase("other-marker", up + "-- +goose Down\nDROP TABLE note;\n"),
        RefusalCase(
            "marker-in-whole-file",
            "\(plain)-- migrate:down\nDROP TABLE note;\n",
            in: "0001_a.up.sql"
        ),
        RefusalCase("misspelt-marker", up + "-- migrate:dwon\nDROP TABLE note;\n"),
        RefusalCase("indented-marker", up + "  -- migrate:down\nDROP TABLE note;\n"),
        RefusalCase("misspelt-marker-of-goose", "-- +goose Upp\n" + plain),
        RefusalCase("unknown-marker", "\(plain)-- Down\nDROP TABLE note;\n"),
        RefusalCase("statement-before-marker", "-- Why.\n\(plain)\(up)"),
        RefusalCase("unsupported-option", "-- migrate:up lock:none\n" + plain),
        RefusalCase("older-without-a-reason", "-- migrate:older breaks\n" + plain),
        RefusalCase(
            "statement-begin-without-end",
            "-- +goose Up\n-- +goose StatementBegin\n\(plain)-- +goose Down\nDROP TABLE note;\n"
        ),
        RefusalCase(
            "statement-end-without-begin",
            "-- +goose Up\n\(plain)-- +goose StatementEnd\n"
        ),
        RefusalCase(
            "environment-substitution",
            "-- +goose Up\n-- +goose ENVSUB ON\nINSERT INTO note VALUES ('${HOME}');\n"
        ),
        RefusalCase("misplaced-no-transaction", "-- Compacts.\n-- no-transaction\nVACUUM;\n"),
        RefusalCase("misspelt-no-transaction", "--no-transaction\nVACUUM;\n"),
    ]
}
