import Common
import MigrationKitSQL

/// The sections of the manual page that no command tells of itself.
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
                A folder has one form, that of the tool whose files they are. Numbers give the \
                order. In dbmate's form, which 'create' begins a folder with, a marker stands \
                alone in its line, and what follows it is the SQL that applies the migration, or \
                takes it back:
                """
            )
            + Mdoc.literalBlock([
                "-- migrate:up", "CREATE TABLE notes (id INTEGER PRIMARY KEY);", "",
                "-- migrate:down", "DROP TABLE notes;",
            ])
            + [".Pp"]
            + Mdoc.paragraph(
                """
                The part that takes it back may be missing. A migration runs in a transaction, \
                unless it says otherwise: VACUUM and the like need that.
                """
            )
            + [".Bl -tag -width Ds"]
            + MigrationFormat.allCases.flatMap { format in
                [".It \(Mdoc.argument(format.argument))"]
                    + Mdoc.paragraph("\(format.files).")
                    + Mdoc.paragraph(
                        format == .flyway
                            ? "Every migration runs in a transaction."
                            : "One outside of a transaction \(format.wayOutOfTransaction)"
                    )
            }
            + [".El"]
    }

    private var settings: [String] {
        let keys = SettingsKey.allCases.filter { hasFolder || $0 != .migrations }
        return [".Sh SETTINGS"]
            + Mdoc.paragraph(
                """
                The settings file is TOML. It has a line for each setting, all of them optional. \
                Options and the environment win over it, and relative paths are seen from its \
                folder:
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
            "A key goes into the secret store, and a new encrypted database is made:": [
                "export MIGRATIONKIT_DB_PATH=notes.db",
                "export MIGRATIONKIT_KEYCHAIN_SERVICE=com.example.Notes",
                "\(program) key generate --keychain-account main",
                "\(program) migrate",
            ],
            "What would happen, without its happening:": [
                "\(program) migrate --dry-run"
            ],
            "The schema goes into the repository, and a check sees to it that it stays true:": [
                "\(program) schema-dump --output schema.sql",
                "\(program) schema-dump --check schema.sql",
            ],
            "A picture of the tables:": [
                "\(program) schema-dump --format dot | dot -Tsvg > schema.svg"
            ],
        ]
        return examples.flatMap { title, commands in
            Mdoc.paragraph(title) + Mdoc.literalBlock(commands.map { "$ \($0)" }) + [".Pp"]
        }.dropLast()
    }

    private static let environment =
        SettingsKey.allCases.compactMap(\.setting.variable) + [
            ("MIGRATIONKIT_CONFIG", "The settings file, where --config names none."),
            (
                "MIGRATIONKIT_PASSWORD",
                """
                The key itself. Others on this machine may have seen it before it was wiped: prefer \
                the other sources.
                """
            ),
            (
                "CREDENTIALS_DIRECTORY",
                """
                Where the service manager keeps a service's credentials. A credential named \
                migrationkit-password is the key; it comes before the variables.
                """
            ),
            ("TERM", "No progress is shown where it is 'dumb'."),
        ]

    private static let files = [
        (
            "migrationkit.toml",
            """
            Settings, in the folder where the tool is run. Options and the environment win over \
            them; 'status --show-settings' shows where each comes from.
            """
        ),
        ("migrations", "The folder of SQL files, where nothing names another."),
        (
            "DATABASE-migration.lock",
            """
            Held while a process migrates the database, or writes it anew. Left over, it locks \
            nothing.
            """
        ),
        (
            "DATABASE-wal, DATABASE-shm, DATABASE-journal",
            "SQLite's own, encrypted as the database is. They belong to it: never remove them."
        ),
        (
            ".DATABASE-converting-*",
            """
            What encrypt, decrypt, rekey or upgrade has begun and was killed in. The next one \
            removes it.
            """
        ),
        (
            "DATABASE-loading-*",
            "What schema-load has begun and was killed in. It can be removed."
        ),
    ]
}
