import GRDB
import MigrationKitGRDB

/// The statements that lead from one schema to another, and back, and lose nothing that wasn't
/// allowed to be lost.
///
/// They use what SQLite can do by itself: renames, added and dropped columns. For everything else,
/// a table is rebuilt, see ``TableRebuild``.
///
/// Run them in one transaction, with foreign keys off before it begins and checked before it ends,
/// as the steps of `GRDBMigrationRunner` do.
public struct SchemaMigration: Sendable {
    /// The way to the wanted schema, without semicolons at the ends.
    public let up: [String]

    /// The way back.
    public let down: [String]

    /// What the way back can't bring back, each in a few words, such as `the rows of notes`.
    public let notBroughtBack: [String]

    /// Which rows the way back refuses, each in a sentence, such as `rows with NULL in notes.title
    /// are refused`. Only the wanted schema allows them.
    public let refusedOnWayBack: [String]

    /// What may lose or refuse rows when it is applied.
    public let hazards: [SchemaHazard]

    /// Plans the way on a database in memory.
    ///
    /// - Parameters:
    ///   - difference: What differs.
    ///   - backfills: SQL expressions over the old row for columns of the wanted schema, such as
    ///     `["notes.n": "length(body)"]`.
    ///   - configuration: The configuration of the database in memory. Functions and collations that
    ///     it lacks are replaced, except in backfills.
    /// - Throws: ``SchemaDifferenceError``.
    public init(
        _ difference: SchemaDifference,
        backfills: [String: String] = [:],
        configuration: Configuration = Configuration()
    ) throws {
        try self.init(
            difference,
            backfills: backfills,
            configuration: configuration,
            fillingRequiredColumns: false
        )
    }

    /// - Parameter fillsRequiredColumns: Whether a new required column without a default gets empty
    ///   values, as on the way back. Otherwise it needs a backfill.
    package init(
        _ difference: SchemaDifference,
        backfills: [String: String] = [:],
        configuration: Configuration,
        fillingRequiredColumns fillsRequiredColumns: Bool
    ) throws {
        let match = SchemaMatch(difference.from.model, difference.to.model, difference.renames)
        let backfills = try match.expressions(backfills)
        var configuration = configuration
        configuration.foreignKeysEnabled = false
        (up, down, hazards, refusedOnWayBack) = try MemoryDatabase.run(configuration) { db in
            try db.load(difference.from)
            let reader = SchemaReader()
            let up = try SchemaPlan(
                match,
                backfills: backfills,
                fillsRequiredColumns: fillsRequiredColumns,
                reader: reader,
                in: db
            )
            try db.checkNothingIsMissing()
            let back = SchemaMatch(match.new, match.old, match.reversedRenames)
            let down = try SchemaPlan(
                back,
                backfills: ColumnExpressions(),
                fillsRequiredColumns: true,
                reader: reader,
                in: db
            )
            let hazards = SchemaHazards(
                match,
                backfills: backfills,
                rewritten: up.rewritten,
                in: db
            )
            let hazardsBack = SchemaHazards(
                back,
                backfills: down.expressions,
                rewritten: down.rewritten,
                in: db
            )
            return (up.statements, down.statements, hazards.all, hazardsBack.refusals)
        }
        notBroughtBack = match.losses(backfills)
    }
}

extension SchemaMatch {
    /// Finds the columns of backfills by their names, `TABLE.COLUMN`.
    ///
    /// - Throws: ``SchemaDifferenceError/unknownBackfill(_:)``.
    fileprivate func expressions(_ backfills: [String: String]) throws -> ColumnExpressions {
        var result = ColumnExpressions()
        for (name, expression) in backfills.sorted(by: { $0.key < $1.key }) {
            let found = new.tables.values.sorted { $0.name < $1.name }.flatMap { table in
                table.columns.filter { "\(table.name).\($0.name)".isSameName(as: name) }
                    .map { (table, $0) }
            }.first
            guard let (table, column) = found, column.generated == nil, !table.isVirtual,
                let old = oldTable(of: table), !old.hasSameDefinition(as: table)
            else { throw SchemaDifferenceError.unknownBackfill(name) }
            result[table.name, column.name] = expression
        }
        return result
    }

    /// What is gone after the migration and its rollback.
    fileprivate func losses(_ backfills: ColumnExpressions) -> [String] {
        old.tables.values.sorted { $0.name < $1.name }.flatMap { table -> [String] in
            guard let successor = newTable(of: table) else { return ["the rows of \(table.name)"] }
            guard !table.isVirtual else {
                let isFilled = table.contentTable != nil
                return isFilled || table.hasSameDefinition(as: successor)
                    ? [] : ["the rows of \(table.name)"]
            }
            let columns = table.columns.filter { column in
                guard column.generated == nil else { return false }
                guard let new = newColumn(of: column.name, in: table) else { return true }
                return new.generated != nil || backfills[successor.name, new.name] != nil
            }
            return columns.map { "the values of \(table.name).\($0.name)" }
                + (table.isAutoincrement && !successor.isAutoincrement
                    ? ["the AUTOINCREMENT mark of \(table.name)"] : [])
        }
    }
}

extension Database {
    /// Creates the objects of a schema. Double quotes may be those of strings, as when SQLite reads
    /// a schema.
    fileprivate func load(_ schema: DatabaseSchema) throws {
        for statement in schema.statements {
            do {
                try withDoubleQuotedStrings(true) { try run(statement: statement) }
            } catch let error as DatabaseError {
                if MemoryDatabase.canReplace(error) { throw error }
                let words = SQLTokens(statement).tokens.prefix { $0.text != "(" }.prefix(4)
                throw SchemaDifferenceError.refused(
                    object: words.dropFirst().map(\.text).joined(separator: " "),
                    reason: error.message ?? "\(error.resultCode)"
                )
            }
        }
        try checkNothingIsMissing()
    }

    /// Throws SQLite's error if a view or a trigger names something that can be replaced: SQLite
    /// creates it all the same, but then alters no table.
    fileprivate func checkNothingIsMissing() throws {
        for message in try SchemaListing(of: self).problems(in: self).values {
            let error = DatabaseError(resultCode: .SQLITE_ERROR, message: message)
            if MemoryDatabase.canReplace(error) { throw error }
        }
    }
}
