import Foundation
import GRDB
import MigrationKit
import MigrationKitCommon

/// The table that records what was done to the ledger, when, and with which text of the steps.
///
/// Rows are only added, each in the transaction of the change that it records. The table may be
/// missing: plain GRDB and earlier releases work without it.
///
/// Its columns are its version. A release may add some, and names those that it writes: the next row
/// that a program adds to a table from an earlier release brings the missing ones, and an earlier
/// release leaves later ones empty. A kind of entry that a program doesn't know is no entry for it.
///
/// The name begins with `grdb_`, since GRDB treats every other table as the user's: its
/// `eraseDatabaseOnSchemaChange` would take it for a change of the schema.
package enum MigrationJournal {
    package static let table = "grdb_migrationkit_journal"

    /// Whether this is the table's name, compared as SQLite does.
    static func isTable(_ name: String) -> Bool {
        name.utf8.count == table.utf8.count && name.lowercased() == table
    }

    /// The number of the last row; `nil` without one.
    static func lastRow(_ db: Database) throws -> Int64? {
        guard try db.hasTable(table) else { return nil }
        return try db.reading(table) {
            try Int64.fetchOne(db, sql: "SELECT max(id) FROM main.\(table)")
        }
    }

    /// Adds a row, and creates the table, or columns of it, if they are missing.
    ///
    /// - Parameters:
    ///   - seconds: How long it took, if something ran.
    ///   - older: What the step means for versions that don't know it, if that was judged.
    ///   - appVersion: The version of the program.
    ///   - backup: The backup that has what a rollback has deleted.
    static func add(
        _ event: MigrationHistoryEntry.Event,
        _ step: MigrationStep<Database>,
        seconds: Double? = nil,
        older: OlderVersions? = nil,
        appVersion: String? = nil,
        backup: String? = nil,
        _ db: Database
    ) throws {
        let isApplied = event == .applied || event == .recorded || event == .repaired
        let values: StatementArguments = [
            step.identifier, event.rawValue,
            event == .rolledBack ? nil : step.checksum,
            seconds.map(\.inMicroseconds),
            isApplied || event == .begun ? (step.older ?? older)?.text : nil,
            isApplied || event == .begun ? step.rollbackSQL : nil,
            appVersion, backup,
        ]
        try writing(db) { try insert(values, db) }
    }

    /// Runs statements that write to the table, and creates it, or columns of it, if they are missing.
    private static func writing(_ db: Database, _ body: () throws -> Void) throws {
        try db.reading(table) {
            do {
                try body()
            } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
                try create(db)
                try body()
            }
        }
    }

    /// Adds a record of the whole schema, which isn't one of ``read(_:)``'s entries.
    static func add(
        schemaFingerprint fingerprint: String,
        after identifier: String,
        _ db: Database
    ) throws {
        try db.reading(table) {
            try insert([identifier, schema, fingerprint, nil, nil, nil, nil, nil], db)
        }
    }

    /// The last record of the whole schema.
    static func schemaFingerprint(_ db: Database) throws -> String? {
        guard try db.hasTable(table) else { return nil }
        return try db.reading(table) {
            try String.fetchOne(
                db,
                sql: """
                    SELECT CASE typeof(checksum) WHEN 'text' THEN checksum END FROM main.\(table)
                    WHERE event = ? ORDER BY id DESC LIMIT 1
                    """,
                arguments: [schema]
            )
        }
    }

    private static let schema = "schema"

    private static func create(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS main.\(table) (
                    id INTEGER PRIMARY KEY,
                    identifier TEXT NOT NULL,
                    event TEXT NOT NULL,
                    checksum TEXT,
                    time TEXT NOT NULL,
                    seconds REAL,
                    older TEXT,
                    rollback TEXT,
                    app_version TEXT,
                    backup TEXT,
                    progress TEXT
                )
                """
        )
        let columns = try columns(db)
        for column in laterColumns + [progress] where !columns.contains(column) {
            try db.execute(sql: "ALTER TABLE main.\(table) ADD COLUMN \(column) TEXT")
        }
    }

    private static func columns(_ db: Database) throws -> Set<String> {
        try String.fetchSet(db, sql: "SELECT name FROM pragma_table_info('\(table)')")
    }

    /// The columns of an entry that tables of the first release don't have.
    private static let laterColumns = ["older", "rollback", "app_version", "backup"]

    /// How far a step came that was begun; `NULL` once it is applied.
    private static let progress = "progress"

    /// - Parameter values: The identifier, event, checksum, seconds, and the later columns.
    private static func insert(_ values: StatementArguments, _ db: Database) throws {
        // The time has the format in which GRDB stores dates, in UTC.
        try db.cachedStatement(
            sql: """
                INSERT INTO main.\(table) (
                    identifier, event, checksum, seconds, older, rollback, app_version, backup, time
                ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, strftime('%Y-%m-%d %H:%M:%f', 'now'))
                """
        ).execute(arguments: values)
        // A trigger can prevent the row.
        guard db.changesCount == 1 else { throw MigrationKitError.unusableTable(table) }
    }

    /// All entries, oldest first.
    static func read(_ db: Database) throws -> [MigrationHistoryEntry] {
        guard try db.hasTable(table) else { return [] }
        return try db.reading(table) {
            let rows = try Row.fetchCursor(statement(db))
            var entries: [MigrationHistoryEntry] = []
            while let row = try rows.next() {
                guard let days = row[2] as Double? else { continue }
                entries.append(
                    MigrationHistoryEntry(
                        identifier: row[0],
                        event: row[1],
                        time: date(ofJulianDay: days),
                        seconds: row[3],
                        checksum: row[4],
                        older: (row[5] as String?).map(OlderVersions.init(text:)),
                        rollbackSQL: row[6],
                        appVersion: row[7],
                        backup: row[8]
                    )
                )
            }
            return entries
        }
    }

    private static func date(ofJulianDay days: Double) -> Date {
        let milliseconds = (days - 2_440_587.5) * 86_400_000
        return Date(timeIntervalSince1970: milliseconds.rounded() / 1000)
    }

    /// Other programs may have written to the table. Rows that aren't entries, or are from a later
    /// release, are left out. The time is in days. <https://www.sqlite.org/lang_datefunc.html>
    private static func statement(_ db: Database) throws -> Statement {
        func statement(_ later: (String) -> String) throws -> Statement {
            try db.cachedStatement(
                sql: """
                    SELECT identifier, event, julianday(time),
                        CASE WHEN seconds >= 0 AND seconds < 1e9 THEN seconds + 0.0 END,
                        CASE typeof(checksum) WHEN 'text' THEN checksum END,
                        \(laterColumns.map(later).joined(separator: ", "))
                    FROM main.\(table)
                    WHERE typeof(identifier) = 'text' AND event IN (\(events))
                    ORDER BY id
                    """
            )
        }
        do {
            return try statement { "CASE typeof(\($0)) WHEN 'text' THEN \($0) END" }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
            let columns = try columns(db)
            return try statement {
                columns.contains($0) ? "CASE typeof(\($0)) WHEN 'text' THEN \($0) END" : "NULL"
            }
        }
    }

    private static let events = MigrationHistoryEntry.Event.allCases
        .map { "'\($0.rawValue)'" }.joined(separator: ", ")

    /// The steps that were recorded as applied and haven't run, by a baseline or a renaming since.
    static func recordedWithoutRunning(_ db: Database) throws -> Set<String> {
        /// Whether the step whose new name is in the next entry has run; `nil` if that is none.
        var renamedHasRun: Bool?
        return try read(db).reduce(into: []) { recorded, entry in
            let isRun = renamedHasRun ?? false
            renamedHasRun = nil
            switch entry.event {
            case .recorded where !isRun: recorded.insert(entry.identifier)
            case .renamed: renamedHasRun = recorded.remove(entry.identifier) == nil
            case .applied, .recorded, .rolledBack, .forgotten: recorded.remove(entry.identifier)
            case .repaired, .begun: break
            }
        }
    }

    /// The record of every step that wasn't rolled back since, by its identifier.
    package static func records(_ db: Database) throws -> [String: MigrationRecord] {
        /// The record of a step whose new name is in the next entry.
        var renamed: MigrationRecord?
        return try read(db).reduce(into: [:]) { records, entry in
            defer { if entry.event != .renamed { renamed = nil } }
            switch entry.event {
            case .applied, .recorded:
                records[entry.identifier] = MigrationRecord(
                    appliedAt: renamed?.appliedAt ?? entry.time,
                    seconds: renamed?.seconds ?? entry.seconds,
                    checksum: entry.checksum,
                    older: entry.older ?? renamed?.older,
                    rollbackSQL: entry.rollbackSQL ?? renamed?.rollbackSQL,
                    appVersion: entry.appVersion ?? renamed?.appVersion
                )
            case .renamed:
                renamed = records.removeValue(forKey: entry.identifier)
            case .repaired:
                let record = records[entry.identifier]
                records[entry.identifier] = MigrationRecord(
                    appliedAt: record?.appliedAt,
                    seconds: record?.seconds,
                    checksum: entry.checksum,
                    older: entry.older ?? record?.older,
                    rollbackSQL: entry.rollbackSQL ?? record?.rollbackSQL,
                    appVersion: record?.appVersion
                )
            case .rolledBack, .forgotten:
                records[entry.identifier] = nil
            case .begun: break
            }
        }
    }
}

// MARK: - Steps That Are Begun

extension MigrationJournal {
    /// A step whose batches are under way. For others than the program that has it, it is like an applied
    /// one: some of its rows are changed.
    package struct Begun {
        fileprivate let row: Int64
        let checksum: String?
        let older: OlderVersions?
        let since: Date?
        /// What takes it back.
        let rollbackSQL: String?
        let appVersion: String?
        var progress: BatchProgress

        /// Whether it began after another one.
        func isLater(than other: Begun) -> Bool { row > other.row }

        /// Whether the step's batches can go on from here: it is the one that began.
        func goesOn(with step: MigrationStep<Database>) -> Bool {
            guard let checksum, let current = step.checksum else { return !step.batches.isEmpty }
            return !step.batches.isEmpty && checksum == current
        }
    }

    /// The steps that are begun, by their identifiers.
    ///
    /// One that was applied or taken back since isn't: another release, or a run that is all or nothing,
    /// may have left the note of how far it came.
    package static func begun(_ db: Database) throws -> [String: Begun] {
        guard try db.hasTable(table) else { return [:] }
        return try db.reading(table) {
            guard let statement = try begunStatement(db) else { return [:] }
            let rows = try Row.fetchAll(statement, arguments: [MigrationHistoryEntry.Event.begun])
            return rows.reduce(into: [:]) { begun, row in
                guard let progress = BatchProgress(text: row[5]) else { return }
                begun[row[1]] = Begun(
                    row: row[0],
                    checksum: row[2],
                    older: (row[3] as String?).map(OlderVersions.init(text:)),
                    since: (row[4] as Double?).map(date(ofJulianDay:)),
                    rollbackSQL: row[6],
                    appVersion: row[7],
                    progress: progress
                )
            }
        }
    }

    /// - Returns: `nil` if the table has no column for it.
    private static func begunStatement(_ db: Database) throws -> Statement? {
        func text(_ column: String) -> String {
            "CASE typeof(\(column)) WHEN 'text' THEN \(column) END"
        }
        do {
            return try db.cachedStatement(
                sql: """
                    SELECT id, identifier, \(text("checksum")), \(text("older")), julianday(time),
                        progress, \(text("rollback")), \(text("app_version"))
                    FROM main.\(table) AS begun
                    WHERE event = ? AND typeof(identifier) = 'text' AND typeof(progress) = 'text'
                        AND NOT EXISTS (
                            SELECT 1 FROM main.\(table) AS later
                            WHERE later.id > begun.id AND later.identifier = begun.identifier
                                AND later.event IN (
                                    'applied', 'recorded', 'rolledBack', 'renamed', 'forgotten'
                                )
                        )
                    ORDER BY id
                    """
            )
        } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
            guard try columns(db).contains(progress) else { return nil }
            throw error
        }
    }

    /// Adds a row for a step whose batches begin.
    static func begin(
        _ step: MigrationStep<Database>,
        older: OlderVersions,
        appVersion: String?,
        _ db: Database
    ) throws -> Begun {
        try add(.begun, step, older: older, appVersion: appVersion, db)
        let begun = Begun(
            row: db.lastInsertedRowID,
            checksum: step.checksum,
            older: older,
            since: nil,
            rollbackSQL: step.rollbackSQL,
            appVersion: appVersion,
            progress: BatchProgress()
        )
        try note(begun, db)
        return begun
    }

    /// Notes how far a step came.
    static func note(_ begun: Begun, _ db: Database) throws {
        try set(begun.progress.text, for: begun, db)
    }

    /// Notes that a step is done.
    static func end(_ begun: Begun, _ db: Database) throws {
        try set(nil, for: begun, db)
    }

    private static func set(_ text: String?, for begun: Begun, _ db: Database) throws {
        try writing(db) {
            try db.cachedStatement(sql: "UPDATE main.\(table) SET \(progress) = ? WHERE id = ?")
                .execute(arguments: [text, begun.row])
        }
        guard db.changesCount == 1 else { throw MigrationKitError.unusableTable(table) }
    }
}

extension MigrationHistoryEntry.Event: DatabaseValueConvertible {}
