import GRDB
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitSchema

/// Migrations that aren't recorded, and whose effect a database has.
struct PresentEffect {
    fileprivate let identifiers: [String]

    /// Whether they change nothing of the schema, which then proves nothing.
    fileprivate let isInvisible: Bool

    var question: String {
        let them = identifiers.joined(separator: ", ")
        guard isInvisible else { return "Record \(them) as applied, without running?" }
        return """
            Record \(them) as applied, without running? The schema is the same with and without: only \
            you know whether the rows are there.
            """
    }
}

extension OpenStore {
    /// Compares a database with what migrations make that aren't recorded.
    ///
    /// What the database has otherwise without them, too, is no matter of theirs.
    ///
    /// - Throws: ``CommandError`` if the database doesn't have it; `MigrationRepairError` if one of them
    ///   is recorded or begun; `GRDBMigrationReplayError` if that can't be found out.
    func effect(
        of identifiers: [String],
        _ options: DriftOptions,
        _ db: Database
    ) throws -> PresentEffect {
        try runner.checkPending(identifiers, db)
        let applied = try Array(runner.appliedMigrationIdentifiers(in: db))
        let without = try runner.drift(in: db, from: applied, options).texts
        let with = try runner.drift(in: db, from: applied + identifiers, options).texts
        let missing = with.filter { !without.contains($0) }
        guard missing.isEmpty else { throw CommandError.effectIsMissing(of: identifiers, missing) }
        return PresentEffect(identifiers: identifiers, isInvisible: with == without)
    }
}

extension CommandError {
    fileprivate static func effectIsMissing(
        of identifiers: [String],
        _ differences: [String]
    ) -> CommandError {
        CommandError(
            ErrorCode("otherSchema", .dataError),
            "the database doesn't have what \(identifiers.joined(separator: ", ")) would make",
            (differences.map { "- \($0)" } + [
                """
                Nothing was recorded. If a part of it is there, run the other statements yourself \
                ('shell' opens the database), and repeat the command. Or undo that part, and 'migrate'.
                """
            ]).joined(separator: "\n")
        )
    }
}
