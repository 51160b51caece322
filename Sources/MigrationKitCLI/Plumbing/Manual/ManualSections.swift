import MigrationKitCommon
import MigrationKitSQL

/// The sections of the manual page that don't come from a command.
struct ManualSections {
    /// The program's name.
    let program: String
    /// Whether the migrations are SQL files, and not the program's own.
    let hasFolder: Bool

    var lines: [String] {
        (hasFolder ? migrationFiles : []) + settings
            + [".Sh ENVIRONMENT"] + list(Self.environment, macro: "Ev")
            + [".Sh FILES"] + list(Self.files, macro: "Pa")
            + [".Sh EXIT STATUS", ".Bl -tag -width Ds"]
            + ErrorCode.ExitStatus.meanings.flatMap {
                [".It \($0.code)"] + Mdoc.paragraph($0.meaning)
            }
            + [".El", ".Sh EXAMPLES"] + examples
            + [
                ".Sh SEE ALSO",
                ".Xr secret-tool 1 ,",
                ".Xr sqlite3 1 ,",
                ".Xr systemd.exec 5",
            ]
    }

    private var migrationFiles: [String] {
        [".Sh MIGRATION FILES"]
            + Mdoc.paragraph(
                """
                All files of a folder have one tool's format. Their numbers give the order. \
                'create' starts a folder in dbmate's format: a marker on a line of its own, \
                followed by the SQL that applies the migration or undoes it:
                """
            )
            + Mdoc.literalBlock([
                "-- migrate:up", "CREATE TABLE notes (id INTEGER PRIMARY KEY);", "",
                "-- migrate:down", "DROP TABLE notes;",
            ])
            + [".Pp"]
            + Mdoc.paragraph(
                """
                The part that undoes it may be missing. A migration runs in a transaction unless \
                it says otherwise, as VACUUM and similar statements require.
                """
            )
            + [".Bl -tag -width Ds"]
            + MigrationFormat.allCases.flatMap { format in
                [".It \(Mdoc.argument(format.argument))"]
                    + Mdoc.paragraph("\(format.files).")
                    + Mdoc.paragraph(
                        format.wayOutOfTransaction.map { "One outside of a transaction \($0)" }
                            ?? "Every migration runs in a transaction."
                    )
            }
            + [".El"]
    }

    private var settings: [String] {
        let keys = SettingsKey.allCases.filter { hasFolder || $0 != .migrations }
        return [".Sh SETTINGS"]
            + Mdoc.paragraph(
                """
                The settings file is TOML. Every setting is optional and has one line. Options and \
                the environment override it. Relative paths start at its folder:
                """
            )
            + Mdoc.literalBlock([
                "db-path = \"notes.db\"", "keychain-service = \"com.example.Notes\"",
                "require-index = [\"notes.notes_title\"]", "lock-timeout = 60",
            ])
            + [".Bl -tag -width Ds"]
            + keys.flatMap { key in
                [".It \(Mdoc.argument(key.rawValue))"]
                    + Mdoc.paragraph("\(key.meaning). It is \(key.setting.kind.expected).")
            }
            + [".El"]
    }

    private func list(_ items: [(String, String)], macro: String) -> [String] {
        [".Bl -tag -width Ds"]
            + items.flatMap { [".It \(macro) \(Mdoc.argument($0.0))"] + Mdoc.paragraph($0.1) }
            + [".El"]
    }

    private var examples: [String] {
        let examples: KeyValuePairs = [
            "Store a new key, and create an encrypted database:": [
                "export MIGRATIONKIT_DB_PATH=notes.db",
                "export MIGRATIONKIT_KEYCHAIN_SERVICE=com.example.Notes",
                "\(program) key generate --keychain-account main",
                "\(program) migrate",
            ],
            "Show what would happen:": [
                "\(program) migrate --dry-run"
            ],
            "Find what would lose data or fail, before a branch is merged:": [
                "\(program) lint --base main"
            ],
            "Run every upgrade and every rollback, with rows:": [
                "\(program) test"
            ],
            "Keep the schema in the repository, and check that it is up to date:": [
                "\(program) schema-dump --output schema.sql",
                "\(program) schema-dump --check schema.sql",
            ],
            "Write the migration that leads to the schema in an edited file:": [
                "\(program) schema-diff --to schema.sql",
                "\(program) create 'add tags' --to schema.sql",
            ],
            "Draw the tables:": [
                "\(program) schema-dump --format dot | dot -Tsvg > db.svg"
            ],
        ]
        return examples.flatMap { title, commands in
            Mdoc.paragraph(title) + Mdoc.literalBlock(commands.map { "$ \($0)" }) + [".Pp"]
        }.dropLast()
    }

    private static let environment =
        SettingsKey.allCases.compactMap(\.setting.variable) + [
            ("MIGRATIONKIT_CONFIG", "The settings file, if --config is not given."),
            (
                "MIGRATIONKIT_PASSWORD",
                """
                The key itself. Other users may read it before the tool wipes it: prefer another \
                source.
                """
            ),
            (
                LimitedProcess.secondsVariable,
                """
                How many seconds of processor time 'lint', 'test', 'plan', 'create' and the commands of \
                schemas may take; default: 300, or no limit with --db-path. 0 is no limit.
                """
            ),
            (
                LimitedProcess.memoryVariable,
                "How many MiB of memory they may take; default: 2048. 0 is no limit."
            ),
            (
                "CREDENTIALS_DIRECTORY",
                """
                Where the service manager keeps a service's credentials. A credential named \
                migrationkit-password is the key; it is used before the variables.
                """
            ),
            ("TERM", "If it is 'dumb', no progress is shown."),
        ]

    private static let files = [
        (
            "migrationkit.toml",
            """
            Settings, in the folder where the tool is run or in one above it, up to the root of \
            the repository or the home folder. Options and the environment override them; \
            'status --show-settings' shows where each comes from.
            """
        ),
        ("migrations", "The folder of SQL files, unless another is given."),
        (
            "DATABASE-migration.lock",
            """
            Locked while a process migrates or rewrites the database. A file that is left over \
            locks nothing.
            """
        ),
        (
            "DATABASE-sealed-keys",
            """
            After 'key rotate': leads from the old key to the new one if the secret store loses it. \
            Never remove it; it is removed once the secret store has written the new key.
            """
        ),
        (
            "DATABASE-key-record",
            """
            Which program keeps the key, in which item, for the day when it isn't found. Nothing in \
            it is secret.
            """
        ),
        (
            "DATABASE-wal, DATABASE-shm, DATABASE-journal",
            "SQLite's journals, encrypted like the database. Never remove them."
        ),
        (
            ".DATABASE-converting-*",
            """
            An unfinished file of encrypt, decrypt, rekey or upgrade that was killed. The next run \
            removes it.
            """
        ),
        (
            ".DATABASE-writing-*",
            "An unfinished file of schema-load that was killed. The next run removes it."
        ),
    ]
}
