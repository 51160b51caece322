import Foundation
import GRDB
import MigrationKit
import MigrationKitSQL
import MigrationKitSchema
import TestSupport
import Testing

/// Writes each migration of real projects a second time, from the schemas before and after it.
///
/// `TESTS_FOLDERS` names a folder that has folders of migrations. They aren't part of this
/// project. Prints what came out.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["TESTS_FOLDERS"] != nil))
struct RealFolderDifferenceTests {
    /// How the migrations that were written here compare with those that people wrote.
    private struct Tally {
        var folders = 0
        var migrations = 0
        /// Those that leave the schema as it is.
        var withoutChange = 0
        /// Those whose schema is reached, and the one before it again.
        var reached = 0
        /// The written ones also insert, update or delete rows.
        var writesRows = 0
        /// SQLite refuses the written one in an empty database, or needs the app's functions.
        var notRun: [String] = []
        var failures: [String] = []
        var hazards: [String: Int] = [:]
    }

    @Test func schemasOfRealMigrationsAreReached() throws {
        let root = try #require(ProcessInfo.processInfo.environment["TESTS_FOLDERS"])
        var tally = Tally()
        for name in try FileManager.default.contentsOfDirectory(atPath: root).sorted() {
            guard let folder = try? MigrationFolder(path: "\(root)/\(name)") else { continue }
            tally.folders += 1
            try check(folder, name, &tally)
        }
        print(
            """
            \(tally.folders) folders, \(tally.migrations) migrations
            \(tally.withoutChange) leave the schema as it is
            \(tally.reached) schemas reached, and left again
            \(tally.writesRows) of the written ones also insert, update or delete rows
            \(tally.notRun.count) not run: \(tally.notRun.joined(separator: "; "))
            hazards: \(tally.hazards.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" })
            """
        )
        for failure in tally.failures { Issue.record(Comment(rawValue: failure)) }
    }

    private func check(_ folder: MigrationFolder, _ name: String, _ tally: inout Tally) throws {
        let queue = try Self.queue()
        var present = try queue.read(DatabaseSchema.init(of:))
        for step in folder.steps {
            let title = "\(name)/\(step.identifier)"
            do {
                try queue.writeWithoutTransaction { db in
                    try db.execute(sql: "PRAGMA foreign_keys = OFF")
                    try step.apply(db)
                }
            } catch {
                tally.notRun.append(title)
                if queue.writeWithoutTransaction({ $0.isInsideTransaction }) { return }
                continue
            }
            tally.migrations += 1
            let wanted = try queue.read(DatabaseSchema.init(of:))
            if try SchemaDifference(from: present, to: wanted).isEmpty {
                tally.withoutChange += 1
            } else {
                do {
                    let hazards = try reach(wanted, from: present)
                    tally.reached += 1
                    for hazard in Set(hazards) { tally.hazards[hazard, default: 0] += 1 }
                } catch {
                    tally.failures.append("\(title): \(error)")
                }
            }
            if folder.scripts[step.identifier].map(Self.writesRows) ?? false {
                tally.writesRows += 1
            }
            present = wanted
        }
    }

    private struct NotReached: Error {
        let way: String
        let changes: [SchemaChange]
    }

    /// - Returns: The hazards of the migration.
    private func reach(
        _ wanted: DatabaseSchema,
        from present: DatabaseSchema
    ) throws -> [String] {
        let difference = try SchemaDifference(from: present, to: wanted)
        let migration = try Self.migration(difference)
        let queue = try Self.queue()
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA foreign_keys = OFF")
            for statement in present.statements { try db.execute(sql: statement) }
            for (way, statements, goal) in [
                ("up", migration.up, wanted), ("down", migration.down, present),
                ("up again", migration.up, wanted),
            ] {
                for statement in statements { try db.execute(sql: statement) }
                let left = try SchemaDifference(from: DatabaseSchema(of: db), to: goal)
                guard left.isEmpty else { throw NotReached(way: way, changes: left.changes) }
            }
        }
        return migration.hazards.map(\.kind.rawValue)
    }

    /// Every new required column without a default gets a value.
    private static func migration(
        _ difference: SchemaDifference,
        backfills: [String: String] = [:]
    ) throws -> SchemaMigration {
        do {
            return try SchemaMigration(difference, backfills: backfills)
        } catch SchemaDifferenceError.needsBackfill(let table, let column)
            where backfills["\(table).\(column)"] == nil
        {
            let all = backfills.merging(["\(table).\(column)": "1"]) { $1 }
            return try migration(difference, backfills: all)
        }
    }

    private static func queue() throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.acceptsDoubleQuotedStringLiterals = true
        configuration.allowsUnsafeTransactions = true
        configuration.prepareDatabase { $0.add(function: .uuid) }
        return try DatabaseQueue(configuration: configuration)
    }

    /// Whether a statement changes rows other than by copying a table in order to rebuild it.
    private static func writesRows(_ migration: MigrationSQL) -> Bool {
        migration.upStatements.contains { statement in
            let words = statement.text.uppercased().split(whereSeparator: \.isWhitespace)
            switch words.first {
            case "UPDATE", "DELETE", "REPLACE", "WITH": return true
            case "INSERT": return !words.contains("SELECT")
            default: return false
            }
        }
    }
}
