import Foundation
import GRDB
import MigrationKit

/// The table that remembers what was done to the ledger, when, and with which text of the steps.
///
/// Rows are only added, each in the transaction of the change that it records. The table may be
/// missing: plain GRDB and earlier releases migrate without it.
///
/// The name begins with `grdb_`, since GRDB takes every other table for one of the user's: its
/// `eraseDatabaseOnSchemaChange` would see a change of the schema in it.
enum MigrationJournal {
    static let table = "grdb_migrationkit_journal"

    /// Adds a row, and makes the table if it is not there.
    ///
    /// - Parameter seconds: How long it took, where something ran.
    static func add(
        _ event: MigrationHistoryEntry.Event,
        _ step: MigrationStep<Database>,
        seconds: Double? = nil,
        _ db: Database
    ) throws {
        try db.reading(table) {
            do {
                try insert(event, step, seconds, db)
            } catch let error as DatabaseError
                where error.message == "no such table: main.\(table)"
            {
                try create(db)
                try insert(event, step, seconds, db)
            }
        }
    }

    private static func create(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS main.\(table) (
                    id INTEGER PRIMARY KEY,
                    identifier TEXT NOT NULL,
                    event TEXT NOT NULL,
                    checksum TEXT,
                    time TEXT NOT NULL,
                    seconds REAL
                )
                """
        )
    }

    private static func insert(
        _ event: MigrationHistoryEntry.Event,
        _ step: MigrationStep<Database>,
        _ seconds: Double?,
        _ db: Database
    ) throws {
        // The form of the time is the one in which GRDB stores dates, in UTC.
        try db.cachedStatement(
            sql: """
                INSERT INTO main.\(table) (identifier, event, checksum, time, seconds)
                VALUES (?, ?, ?, strftime('%Y-%m-%d %H:%M:%f', 'now'), ?)
                """
        ).execute(
            arguments: [
                step.identifier, event.rawValue,
                event == .rolledBack ? nil : step.checksum,
                seconds.map { ($0 * 1_000_000).rounded() / 1_000_000 },
            ]
        )
        // A trigger can keep the row out.
        guard db.changesCount == 1 else { throw MigrationKitError.unusableTable(table) }
    }

    /// Everything that was noted, oldest first.
    static func read(_ db: Database) throws -> [MigrationHistoryEntry] {
        guard try db.hasTable(table) else { return [] }
        // Others may have written into it. What is no note is left out, and so is what a later
        // release notes; the time is in days. <https://www.sqlite.org/lang_datefunc.html>
        return try db.reading(table) {
            let rows = try Row.fetchCursor(
                db,
                sql: """
                    SELECT identifier, event, julianday(time),
                        CASE WHEN seconds >= 0 AND seconds < 1e9 THEN seconds + 0.0 END,
                        CASE typeof(checksum) WHEN 'text' THEN checksum END
                    FROM main.\(table)
                    WHERE typeof(identifier) = 'text' AND event IN (\(events))
                    ORDER BY id
                    """
            )
            var entries: [MigrationHistoryEntry] = []
            while let row = try rows.next() {
                guard let days = row[2] as Double? else { continue }
                let milliseconds = (days - 2_440_587.5) * 86_400_000
                entries.append(
                    MigrationHistoryEntry(
                        identifier: row[0],
                        event: row[1],
                        time: Date(timeIntervalSince1970: milliseconds.rounded() / 1000),
                        seconds: row[3],
                        checksum: row[4]
                    )
                )
            }
            return entries
        }
    }

    private static let events = MigrationHistoryEntry.Event.allCases
        .map { "'\($0.rawValue)'" }.joined(separator: ", ")

    /// What is known of every step that was not rolled back since, by its identifier.
    static func records(_ db: Database) throws -> [String: MigrationRecord] {
        /// What is remembered of a step that has another name from the next entry on.
        var renamed: MigrationRecord?
        return try read(db).reduce(into: [:]) { records, entry in
            defer { if entry.event != .renamed { renamed = nil } }
            switch entry.event {
            case .applied, .recorded:
                records[entry.identifier] = MigrationRecord(
                    appliedAt: renamed?.appliedAt ?? entry.time,
                    seconds: renamed?.seconds ?? entry.seconds,
                    checksum: entry.checksum
                )
            case .renamed:
                renamed = records.removeValue(forKey: entry.identifier)
            case .repaired:
                let record = records[entry.identifier]
                records[entry.identifier] = MigrationRecord(
                    appliedAt: record?.appliedAt,
                    seconds: record?.seconds,
                    checksum: entry.checksum
                )
            case .rolledBack, .forgotten:
                records[entry.identifier] = nil
            }
        }
    }
}

extension MigrationHistoryEntry.Event: DatabaseValueConvertible {}

/// What is remembered of an applied step.
public struct MigrationRecord: Equatable, Sendable {
    /// When it was applied, or recorded as such; `nil` where that is not known.
    public let appliedAt: Date?

    /// How long it took, in seconds; `nil` where it was recorded without running.
    public let seconds: Double?

    /// The step's checksum then, or the one that was accepted since.
    public let checksum: String?
}
