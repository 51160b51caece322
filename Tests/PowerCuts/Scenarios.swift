import Foundation
import GRDB
import GRDBSQLite
import MigrationKitKeys
import MigrationKitSQLCipher
import TestSupport

extension Scenario {
    /// Every command that changes a file, in each way that differs on the disk.
    package static let all: [Scenario] =
        migrating + undoing + recording + making + converting + copying + launching

    /// What has a write-ahead log of a program that doesn't synchronize its commits. A cut may tear
    /// such a log, and the tool refuses a torn one, so the disk alone is judged with these.
    package static let unsynchronized: [Scenario] = [
        Scenario(
            name: "migrate-unsynchronized",
            arguments: onStore("migrate"),
            // The log has two commits.
            versionCount: 6,
            prepare: { try prepareApplied($0, .log, upTo: "0001") },
            hasUnsynchronizedLog: true
        ),
        Scenario(
            name: "rekey-unsynchronized",
            arguments: { place in
                let key = ["--new-password-file", place.path + "/new-password", "--new-raw-key"]
                return ["rekey"] + opening(place) + ["--json"] + key
            },
            watched: [rekeyed],
            versionCount: 4,
            prepare: { try fillStore($0, .log) },
            hasUnsynchronizedLog: true
        ),
        Scenario(
            name: "restore-unsynchronized",
            arguments: onFile(
                "restore",
                "--from",
                "DISK/backup.db",
                "--keep-original",
                "DISK/original.db"
            ),
            watched: [
                .store, Watched(name: "backup.db"), Watched(name: "original.db", isNew: true),
            ],
            versionCount: 5,
            prepare: { place in
                try fillStore(place, .delete, name: "backup.db", table: "newer")
                try fillStore(place, .log)
            },
            repeats: false,
            hasUnsynchronizedLog: true
        ),
    ]

    /// What the rows contain, so that clear text is found.
    static let marker = "zettelkasten"

    // MARK: - Building Blocks

    /// How a database lies on the disk before the command.
    enum Form: String, CaseIterable {
        case delete
        case wal
        /// With commits in the log that are not in the file yet.
        case log
    }

    static func opening(_ place: Place) -> [String] {
        ["--db-path", place.database, "--password-file", place.path + "/password", "--raw-key"]
    }

    private static func onStore(
        _ command: String,
        _ more: String...
    ) -> @Sendable (Place) -> [String] {
        { place in
            let paths = more.map { $0.replacing("DISK", with: place.disk) }
            return [command] + opening(place) + ["--migrations", place.migrations, "--json"] + paths
        }
    }

    /// Like the former, for commands that know no migrations.
    private static func onFile(
        _ command: String,
        _ more: String...
    ) -> @Sendable (Place) -> [String] {
        { place in
            let paths = more.map {
                $0.replacing("DISK", with: place.disk)
                    .replacing("NEWKEY", with: place.path + "/new-password")
            }
            return [command] + opening(place) + ["--json"] + paths
        }
    }

    private static func runTool(_ place: Place, _ command: String, _ more: String...) throws {
        let result = try TestSupport.run(
            builtExecutable("migrationkit-cli"),
            [command] + opening(place) + ["--migrations", place.migrations] + more,
            environment: environment
        )
        guard result.status == 0 else { throw RecordingError.failed(result) }
    }

    /// Four steps that change many pages, and their ways back.
    private static func writeSteps(_ place: Place) throws {
        let steps = [
            (
                "0001_note",
                "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL);",
                "DROP TABLE note;"
            ),
            (
                "0002_rows",
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
                INSERT INTO note (text) SELECT 'added ' || i || hex(zeroblob(150)) FROM n;
                """,
                "DELETE FROM note WHERE text LIKE 'added %';"
            ),
            (
                "0003_index",
                "CREATE INDEX note_text ON note (text);",
                "DROP INDEX note_text;"
            ),
            (
                "0004_tag",
                """
                CREATE TABLE tag (note INTEGER REFERENCES note (id), name TEXT);
                INSERT INTO tag SELECT id, 'tag ' || id FROM note;
                """,
                "DROP TABLE tag;"
            ),
        ]
        for (name, up, down) in steps {
            try place.write(
                "migrations/\(name).sql",
                "-- migrate:up\n\(up)\n\n-- migrate:down\n\(down)\n"
            )
        }
    }

    /// Makes a database with rows and free pages.
    private static func fillStore(
        _ place: Place,
        _ form: Form,
        key: Bool = true,
        cipherVersion: Int? = nil,
        name: String = Place.databaseName,
        table: String = "note"
    ) throws {
        let path = place.disk + "/" + name
        let options = EncryptedDatabase.Options(
            createsFile: true,
            cipher: try cipherVersion.map(CipherSettings.sqlCipher) ?? .current
        )
        let queue =
            try key
            ? EncryptedDatabase.open(path, key: place.key(), options: options)
            : EncryptedDatabase.openPlaintext(path, options: options)
        try queue.writeWithoutTransaction { db in
            if form != .delete { try db.execute(sql: "PRAGMA journal_mode = WAL") }
            try db.execute(
                sql: """
                    CREATE TABLE IF NOT EXISTS \(table) (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
                    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
                    INSERT INTO \(table) (text) SELECT '\(marker) ' || i || hex(zeroblob(100)) FROM n;
                    CREATE TABLE gone (a); INSERT INTO gone SELECT text FROM \(table);
                    DROP TABLE gone;
                    """
            )
        }
        try keepLog(queue, place, form, table)
    }

    /// Closes a database, and leaves commits in its log if that is its form.
    private static func keepLog(
        _ queue: DatabaseQueue,
        _ place: Place,
        _ form: Form,
        _ table: String
    ) throws {
        guard form == .log else { return try queue.close() }
        try queue.writeWithoutTransaction { db in
            _ = try Row.fetchAll(db, sql: "PRAGMA wal_checkpoint(TRUNCATE)")
            try db.execute(sql: "UPDATE \(table) SET text = text || ' in the log' WHERE id > 20")
            try db.execute(sql: "DELETE FROM \(table) WHERE id = (SELECT max(id) FROM \(table))")
        }
        let files = try Place.files(in: place.disk)
        try queue.close()
        try Place.fill(place.disk, files)
    }

    /// Leaves a database as a program that was killed in the middle of a transaction, when all that
    /// it had changed was in the file.
    ///
    /// - Parameter isRemoved: Whether it had removed the journal, which is what a commit is.
    private static func fillChangedStore(_ place: Place, isRemoved: Bool) throws {
        try fillStore(place, .delete)
        let queue = try EncryptedDatabase.open(place.database, key: place.key())
        var files = try queue.writeWithoutTransaction { db in
            try db.execute(sql: "BEGIN; UPDATE note SET text = text || 'x'")
            guard sqlite3_db_cacheflush(db.sqliteConnection) == SQLITE_OK else {
                throw RecordingError.unknown("what is changed can't be written")
            }
            let files = try Place.files(in: place.disk)
            try db.execute(sql: "ROLLBACK")
            return files
        }
        try queue.close()
        if isRemoved, let journal = files.removeValue(forKey: Place.databaseName + "-journal") {
            try Data(journal).write(to: URL(fileURLWithPath: place.removedJournal))
        }
        try Place.fill(place.disk, files)
    }

    /// A database to which the first steps are applied already.
    private static func prepareApplied(_ place: Place, _ form: Form, upTo step: String) throws {
        try writeSteps(place)
        try runTool(place, "migrate", "--to", step)
        let queue = try EncryptedDatabase.open(place.database, key: place.key())
        try queue.writeWithoutTransaction { db in
            if form != .delete { try db.execute(sql: "PRAGMA journal_mode = WAL") }
            try db.execute(
                sql: """
                    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)
                    INSERT INTO note (text) SELECT '\(marker) ' || i || hex(zeroblob(100)) FROM n;
                    """
            )
        }
        try keepLog(queue, place, form, "note")
    }

    // MARK: - Steps

    private static var migrating: [Scenario] {
        var scenarios = Form.allCases.flatMap { form in
            [
                // An app that stays open, and reports each step.
                Scenario(
                    name: "migrate-open-\(form)",
                    program: "PowerProbe",
                    arguments: { ["migrate-open", $0.path] },
                    versionCount: 4,
                    prepare: { try prepareApplied($0, form, upTo: "0001") },
                    repeats: false
                ),
                Scenario(
                    name: "migrate-\(form)",
                    arguments: onStore("migrate"),
                    versionCount: 4,
                    prepare: { try prepareApplied($0, form, upTo: "0001") }
                ),
                Scenario(
                    name: "migrate-all-\(form)",
                    arguments: onStore("migrate", "--all-or-nothing"),
                    versionCount: 2,
                    prepare: { try prepareApplied($0, form, upTo: "0001") }
                ),
                Scenario(
                    name: "migrate-batch-\(form)",
                    arguments: onStore("migrate"),
                    // Its four rows one by one.
                    versionCount: 7,
                    prepare: { place in
                        try place.write(
                            "migrations/0000_size.sql",
                            "-- migrate:up\nCREATE TABLE part (id INTEGER PRIMARY KEY, size INTEGER);\n"
                                + "INSERT INTO part (id) VALUES (1), (2), (3), (4);\n"
                        )
                        try prepareApplied(place, form, upTo: "0004")
                        try place.write(
                            "migrations/0005_fill.sql",
                            "-- migrate:up\n-- migrate:batch rows=1\n"
                                + "UPDATE part SET size = id + 10 WHERE size IS NULL;\n"
                        )
                    }
                ),
                Scenario(
                    name: "migrate-backup-\(form)",
                    arguments: onStore("migrate", "--backup", "DISK/backup.db"),
                    watched: [.store, Watched(name: "backup.db", isNew: true)],
                    versionCount: 5,
                    prepare: { try prepareApplied($0, form, upTo: "0001") },
                    repeats: false
                ),
            ]
        }
        scenarios += [
            Scenario(
                name: "migrate-new",
                arguments: onStore("migrate"),
                watched: [Watched(name: Place.databaseName, isNew: true)],
                versionCount: 7,
                prepare: { try writeSteps($0) }
            ),
            Scenario(
                name: "migrate-sorting",
                program: "PowerProbe",
                arguments: { ["migrate-sorting", $0.path] },
                versionCount: 2,
                prepare: { place in
                    try prepareApplied(place, .delete, upTo: "0004")
                    // More than SQLite's cache holds.
                    try place.write(
                        "migrations/0005_sorted.sql",
                        """
                        -- migrate:up
                        CREATE TABLE sorted AS
                        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
                        SELECT i % 7 AS number FROM n
                        GROUP BY printf('%08d', i * 7919 % 3000) || hex(zeroblob(400)) LIMIT 40;
                        """
                    )
                },
                repeats: false
            ),
            Scenario(
                name: "migrate-restart",
                program: "PowerProbe",
                arguments: { ["migrate-restart", $0.path] },
                versionCount: 4,
                prepare: { place in
                    try prepareApplied(place, .wal, upTo: "0004")
                    // Of two small commits in the log the third overwrites the second alone, if the
                    // cut is such.
                    for (name, count) in [("0005_one", 1), ("0006_two", 1), ("0007_many", 40)] {
                        try place.write(
                            "migrations/\(name).sql",
                            """
                            -- migrate:up
                            WITH RECURSIVE n(i) AS
                                (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
                            INSERT INTO note (text) SELECT 'more ' || i || hex(zeroblob(99)) FROM n;
                            """
                        )
                    }
                },
                repeats: false
            ),
            Scenario(
                name: "migrate-all-new",
                arguments: onStore("migrate", "--all-or-nothing"),
                watched: [Watched(name: Place.databaseName, isNew: true)],
                versionCount: 3,
                prepare: { try writeSteps($0) }
            ),
            Scenario(
                name: "migrate-vacuum",
                arguments: onStore("migrate"),
                versionCount: 2,
                prepare: { place in
                    try prepareApplied(place, .delete, upTo: "0004")
                    try place.write(
                        "migrations/0005_vacuum.sql",
                        "-- migrate:up transaction:false\nVACUUM;\n"
                    )
                }
            ),
        ]
        return scenarios
    }

    private static var undoing: [Scenario] {
        Form.allCases.flatMap { form in
            [
                Scenario(
                    name: "rollback-\(form)",
                    arguments: onStore("rollback", "--steps", "2"),
                    versionCount: 3,
                    prepare: { try prepareApplied($0, form, upTo: "0004") },
                    repeats: false
                ),
                Scenario(
                    name: "rollback-all-\(form)",
                    arguments: onStore("rollback", "--steps", "3", "--all-or-nothing"),
                    versionCount: 2,
                    prepare: { try prepareApplied($0, form, upTo: "0004") },
                    repeats: false
                ),
                Scenario(
                    name: "redo-\(form)",
                    arguments: onStore("redo", "--steps", "2"),
                    versionCount: 5,
                    prepare: { try prepareApplied($0, form, upTo: "0004") },
                    repeats: false
                ),
                Scenario(
                    name: "redo-all-\(form)",
                    arguments: onStore("redo", "--steps", "2", "--all-or-nothing"),
                    // Undoing and applying again are a transaction each.
                    versionCount: 3,
                    prepare: { try prepareApplied($0, form, upTo: "0004") },
                    repeats: false
                ),
                // An older version, which has the first step alone.
                Scenario(
                    name: "downgrade-\(form)",
                    arguments: onStore("downgrade", "--yes"),
                    watched: [
                        .store,
                        Watched(name: Place.databaseName + ".before-downgrade-1", isNew: true),
                    ],
                    // A run after a cut makes another copy.
                    others: [Place.databaseName + ".before-downgrade-2"],
                    versionCount: 3,
                    prepare: { place in
                        try prepareApplied(place, form, upTo: "0004")
                        let manager = FileManager.default
                        for name in try manager.contentsOfDirectory(atPath: place.migrations)
                        where !name.hasPrefix("0001") {
                            try manager.removeItem(atPath: place.migrations + "/" + name)
                        }
                    }
                ),
            ]
        }
    }

    private static var recording: [Scenario] {
        Form.allCases.flatMap { form in
            [
                Scenario(
                    name: "repair-\(form)",
                    arguments: onStore("repair", "--yes", "0001"),
                    versionCount: 2,
                    prepare: { place in
                        try prepareApplied(place, form, upTo: "0004")
                        try place.write(
                            "migrations/0001_note.sql",
                            "-- migrate:up\nCREATE TABLE note "
                                + "(id INTEGER NOT NULL PRIMARY KEY, text TEXT NOT NULL);\n"
                        )
                    }
                ),
                Scenario(
                    name: "baseline-\(form)",
                    arguments: onStore("baseline", "0003"),
                    versionCount: 2,
                    prepare: { place in
                        try writeSteps(place)
                        try fillStore(place, form)
                    }
                ),
            ]
        }
    }

    // MARK: - New Files

    private static var making: [Scenario] {
        [
            Scenario(
                name: "schema-load",
                arguments: { place in
                    onStore("schema-load", place.path + "/schema.sql")(place)
                },
                watched: [Watched(name: Place.databaseName, isNew: true)],
                versionCount: 2,
                prepare: { place in
                    try writeSteps(place)
                    let result = try TestSupport.run(
                        builtExecutable("migrationkit-cli"),
                        [
                            "schema-dump", "--migrations", place.migrations,
                            "--output", place.path + "/schema.sql",
                        ],
                        environment: environment
                    )
                    guard result.status == 0 else { throw RecordingError.failed(result) }
                }
            ),
            Scenario(
                name: "schema-dump",
                arguments: { place in
                    [
                        "schema-dump", "--migrations", place.migrations,
                        "--output", place.disk + "/schema.sql",
                    ]
                },
                watched: [Watched(name: "schema.sql", kind: .text, isNew: true)],
                versionCount: 2,
                prepare: { place in
                    try writeSteps(place)
                    try place.write("disk/schema.sql", "-- an older schema\n")
                }
            ),
            Scenario(
                name: "create",
                arguments: { ["create", "add tags", "--migrations", $0.disk, "--json"] },
                watched: [Watched(name: "0002_add_tags.sql", kind: .text, isNew: true)],
                others: ["0001_note.sql"],
                versionCount: 2,
                prepare: { place in
                    try place.write(
                        "disk/0001_note.sql",
                        "-- migrate:up\nCREATE TABLE note (a);\n\n-- migrate:down\nDROP TABLE note;\n"
                    )
                },
                repeats: false
            ),
        ]
    }

    // MARK: - Conversions

    private static let rekeyed = Watched(name: Place.databaseName, openings: [.newKey, .key])
    private static let newKey = ["--new-password-file", "NEWKEY", "--new-raw-key"]

    private static var converting: [Scenario] {
        let encrypted = Watched(name: Place.databaseName, openings: [.key, .clear])
        let original = Watched(name: "original.db", openings: [.key, .clear], isNew: true)
        let upgraded = Opening(label: "format 3", key: "password", cipherVersion: 3)
        let rekey = { (more: [String]) -> @Sendable (Place) -> [String] in
            { place in
                let key = ["--new-password-file", place.path + "/new-password", "--new-raw-key"]
                return ["rekey"] + opening(place) + ["--json"] + key
                    + more.map { $0.replacing("DISK", with: place.disk) }
            }
        }
        var scenarios = Form.allCases.flatMap { form in
            [
                Scenario(
                    name: "encrypt-\(form)",
                    arguments: onFile("encrypt"),
                    watched: [encrypted],
                    versionCount: 2,
                    prepare: { try fillStore($0, form, key: false) }
                ),
                Scenario(
                    name: "decrypt-\(form)",
                    arguments: onFile("decrypt", "--yes"),
                    watched: [encrypted],
                    versionCount: 2,
                    prepare: { try fillStore($0, form) }
                ),
                Scenario(
                    name: "rekey-\(form)",
                    arguments: rekey([]),
                    watched: [rekeyed],
                    versionCount: 2,
                    prepare: { try fillStore($0, form) }
                ),
                Scenario(
                    name: "upgrade-\(form)",
                    arguments: onFile("upgrade"),
                    watched: [Watched(name: Place.databaseName, openings: [.key, upgraded])],
                    versionCount: 2,
                    prepare: { try fillStore($0, form, cipherVersion: 3) }
                ),
            ]
        }
        scenarios += [
            Scenario(
                name: "rekey-hot",
                arguments: rekey([]),
                watched: [rekeyed],
                versionCount: 2,
                prepare: { try fillChangedStore($0, isRemoved: false) }
            ),
            Scenario(
                name: "rekey-removed",
                arguments: rekey([]),
                watched: [rekeyed],
                // The last of the old ones was committed just before.
                versionCount: 3,
                prepare: { try fillChangedStore($0, isRemoved: true) },
                hasRemovedJournal: true
            ),
            Scenario(
                name: "encrypt-keep",
                arguments: onFile("encrypt", "--keep-original", "DISK/original.db"),
                watched: [encrypted, original],
                versionCount: 3,
                prepare: { try fillStore($0, .delete, key: false) },
                repeats: false
            ),
            Scenario(
                name: "decrypt-output",
                arguments: onFile("decrypt", "--yes", "--output", "DISK/original.db"),
                watched: [.store, original],
                versionCount: 2,
                prepare: { try fillStore($0, .delete) }
            ),
            Scenario(
                name: "rekey-keep",
                arguments: rekey(["--keep-original", "DISK/original.db"]),
                watched: [rekeyed, original],
                versionCount: 3,
                prepare: { try fillStore($0, .log) },
                repeats: false
            ),
            Scenario(
                name: "rekey-output",
                arguments: rekey(["--output", "DISK/copy.db"]),
                watched: [.store, Watched(name: "copy.db", openings: [.newKey], isNew: true)],
                versionCount: 2,
                prepare: { try fillStore($0, .delete) }
            ),
        ]
        return scenarios
    }

    private static var copying: [Scenario] {
        let backup = Watched(name: "backup.db", isNew: true)
        var scenarios = Form.allCases.flatMap { form in
            [
                Scenario(
                    name: "backup-\(form)",
                    arguments: onFile("backup", "--output", "DISK/backup.db"),
                    watched: [.store, backup],
                    versionCount: 2,
                    prepare: { try fillStore($0, form) }
                ),
                Scenario(
                    name: "restore-\(form)",
                    arguments: onFile("restore", "--yes", "--from", "DISK/backup.db"),
                    watched: [.store, Watched(name: "backup.db")],
                    versionCount: 2,
                    prepare: { place in
                        try fillStore(place, .delete, name: "backup.db", table: "newer")
                        try fillStore(place, form)
                    }
                ),
                Scenario(
                    name: "salvage-\(form)",
                    arguments: onFile("salvage", "--output", "DISK/salvaged.db"),
                    watched: [.store, Watched(name: "salvaged.db", isNew: true)],
                    versionCount: 2,
                    prepare: { try fillStore($0, form) }
                ),
            ]
        }
        scenarios += [
            Scenario(
                name: "restore-new",
                arguments: onFile("restore", "--yes", "--from", "DISK/backup.db"),
                watched: [
                    Watched(name: Place.databaseName, isNew: true), Watched(name: "backup.db"),
                ],
                versionCount: 2,
                prepare: { try fillStore($0, .delete, name: "backup.db") }
            ),
            Scenario(
                name: "restore-keep",
                arguments: onFile(
                    "restore",
                    "--from",
                    "DISK/backup.db",
                    "--keep-original",
                    "DISK/original.db"
                ),
                watched: [
                    .store, Watched(name: "backup.db"), Watched(name: "original.db", isNew: true),
                ],
                versionCount: 3,
                prepare: { place in
                    try fillStore(place, .delete, name: "backup.db", table: "newer")
                    try fillStore(place, .log)
                },
                repeats: false
            ),
        ]
        return scenarios
    }

    // MARK: - Key Stores

    /// The new file of a rotation that has not got its name yet.
    package static let draft = "/.\(Place.databaseName)-converting-5e771e"

    private static func prepareKilledRotation(_ place: Place) throws {
        try fillStore(place, .delete)
        let newKey = try DatabaseKey.generate()
        try DatabaseConversion.rekey(
            place.database,
            from: place.key(),
            to: newKey
        ).run(to: place.disk + draft)
        let keyStore = try RecordedKeyStore([])
        try keyStore.store(place.key(), service: Place.service, account: Place.account)
        try keyStore.store(
            newKey,
            service: "migrationkit-pending: \(Place.service)",
            account: "\(Place.account) \(place.database)"
        )
        try place.write("keys", String(decoding: keyStore.content(), as: UTF8.self))
    }

    private static var launching: [Scenario] {
        let store = Watched(name: Place.databaseName, kind: .store)
        let prepareRotation = { @Sendable (form: Form) -> @Sendable (Place) throws -> Void in
            { place in
                try fillStore(place, form)
                let keyStore = try RecordedKeyStore([])
                try keyStore.store(
                    place.key(),
                    service: Place.service,
                    account: Place.account
                )
                try place.write("keys", String(decoding: keyStore.content(), as: UTF8.self))
            }
        }
        return [
            Scenario(
                name: "launch",
                program: "PowerProbe",
                arguments: { ["launch", $0.path] },
                watched: [store],
                versionCount: 2,
                prepare: { _ in }
            ),
            Scenario(
                name: "launch-pool",
                program: "PowerProbe",
                arguments: { ["launch-pool", $0.path] },
                watched: [store],
                versionCount: 2,
                prepare: { _ in }
            ),
            Scenario(
                name: "launch-open",
                program: "PowerProbe",
                arguments: { ["launch-open", $0.path] },
                watched: [store],
                versionCount: 2,
                prepare: { _ in }
            ),
        ]
            + Form.allCases.map { form in
                Scenario(
                    name: "rotate-\(form)",
                    program: "PowerProbe",
                    arguments: { ["rotate", $0.path] },
                    watched: [store],
                    versionCount: 2,
                    prepare: prepareRotation(form),
                    repeats: false
                )
            }
            + [
                Scenario(
                    name: "rotate-discard",
                    program: "PowerProbe",
                    arguments: { ["rotate-discard", $0.path] },
                    watched: [store],
                    versionCount: 2,
                    prepare: prepareRotation(.delete),
                    repeats: false
                ),
                // The key store's program ends with the machine, and has written nothing yet.
                Scenario(
                    name: "rotate-forgetful",
                    program: "PowerProbe",
                    arguments: { ["rotate-forgetful", $0.path] },
                    watched: [store],
                    versionCount: 2,
                    prepare: prepareRotation(.delete),
                    repeats: false,
                    losesKeys: true
                ),
                // A rotation is killed as it has given the new file its name, and a launch ends it.
                Scenario(
                    name: "rotate-settle",
                    program: "PowerProbe",
                    arguments: { ["rotate-settle", $0.path] },
                    watched: [store],
                    versionCount: 2,
                    prepare: prepareKilledRotation,
                    repeats: false
                ),
            ]
    }
}
