import Foundation
import GRDB
import MigrationKit
import MigrationKitCommon
import MigrationKitSchema

/// The SQL that gives a database the schema of its applied migrations again. It isn't run here.
struct SchemaRepair {
    private let path: String?
    let changes: [SchemaChange]
    let statements: [String]
    let hazards: [CountedHazard]

    /// - Returns: `nil` if nothing differs.
    /// - Throws: ``CommandError``; a `SchemaDifferenceError`; a `DatabaseError`.
    init?(of store: OpenStore, _ options: DriftOptions) throws {
        switch try store.runner.drift(in: store.writer, options) {
        case .same, .sameInOtherOrder:
            return nil
        case .notCompared(let reason):
            throw CommandError(
                ErrorCode("schemaNotCompared", .dataError),
                "the schema can't be compared with that of the applied migrations: \(reason)",
                "'schema-diff' compares the database with a dump or with another database."
            )
        case .differs(let difference):
            let migration = try SchemaMigration(
                difference,
                configuration: options.configuration ?? store.writer.configuration,
                fillingRequiredColumns: true
            )
            path = store.path
            changes = difference.changes
            statements = migration.up
            hazards = try store.writer.read { db in
                try migration.hazards.map { try CountedHazard($0, in: db) }
            }
        }
    }

    // MARK: - For People

    /// An SQL script without a line feed at its end.
    var text: String {
        var comments = [
            "Gives \(path ?? "the database") the schema of its applied migrations again.",
            "Nothing was changed yet. Make a backup, read this, and run it in SQLCipher's shell.",
            "An error ends the shell before anything is committed.",
            "This is not a migration: run it on this database only.",
            "", "What differs:",
        ]
        comments += changes.map { "- \($0.driftText)" }
        if !hazards.isEmpty { comments += ["", "What may be lost, or refused:"] }
        for found in hazards {
            let rows = found.rows.map { " (\(counted($0, "row")))" } ?? ""
            comments.append("- \(found.hazard.kind.rawValue): \(found.hazard.message)\(rows)")
        }
        if changes.contains(where: { $0.action == .added && $0.kind == .column }) {
            comments += [
                "",
                "Missing columns are added again without their old values. NOT NULL columns get "
                    + "empty ones.",
            ]
        }
        // https://www.sqlite.org/lang_altertable.html#otheralter
        let sql = ["PRAGMA foreign_keys = OFF", "BEGIN IMMEDIATE"] + statements
        // Like the shell's other errors, a row without a parent must not be followed by COMMIT.
        let end = [
            "CREATE TEMP TABLE row_without_parent (count CHECK (count = 0))",
            "INSERT INTO row_without_parent SELECT count(*) FROM pragma_foreign_key_check",
            "DROP TABLE temp.row_without_parent",
            "COMMIT",
        ]
        let lines = comments.flatMap { $0.isEmpty ? [""] : $0[...].wrapped(to: 77) }
        return
            (lines.map { $0.isEmpty ? "--" : "-- \($0.printable)" } + ["", ".bail on"]
            + (sql + end).map(\.terminated.forShell))
            .joined(separator: "\n")
    }
}
