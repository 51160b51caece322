import Foundation
import MigrationKitCommon
import MigrationKitGRDB

/// Why a table wasn't rebuilt. Nothing has changed then.
///
/// No case has a value of a row.
public enum TableRebuildError: Error, Equatable, Sendable {
    /// There is no such table in the main database.
    case noSuchTable(String)

    /// It is a view, a virtual table, or an internal table.
    case notRebuildable(String, reason: String)

    /// The new definition can't be used.
    case unusableDefinition(table: String, reason: String)

    /// The new definition lacks what `dropping` doesn't list.
    case wouldLose(table: String, [RebuildLoss])

    /// `dropping` lists what isn't lost, or doesn't exist.
    case notLost(table: String, [RebuildLoss])

    /// `columns` has an expression for a column that the new definition doesn't have, or that is
    /// generated.
    case unknownColumn(table: String, column: String)

    /// A new column is `NOT NULL`, and has no default and no expression.
    case missingValue(table: String, column: String)

    /// An index, trigger, view or virtual table doesn't work with the new definition.
    case brokenReference(table: String, from: String, reason: String)

    /// Foreign keys are on, in a transaction, and these tables refer to the table.
    case foreignKeysAreOn(table: String, children: [String])

    /// A temporary object has the table's name, or names the table.
    case temporaryObject(table: String, name: String)

    /// SQLite refuses a row of the table, by a constraint of the new definition.
    case rowRefused(table: String, reason: String)

    /// The conversion to the new type changes values in this many rows.
    case valuesChange(table: String, column: String, rows: Int)

    /// A table hasn't as many rows as before.
    case rowsDiffer(table: String, before: Int, after: Int)

    /// More rows of a table than before violate foreign keys, or a foreign key has become invalid.
    case foreignKeysBroken(table: String, reason: String)

    /// An object of the schema, or the `AUTOINCREMENT` mark, isn't what it should be.
    case schemaDiffers(table: String, object: String)
}

extension TableRebuildError: LocalizedError {
    /// What was refused or lost, in one line.
    public var errorDescription: String? {
        switch self {
        case .noSuchTable(let table):
            "there is no table \(table)"
        case .notRebuildable(let table, let reason):
            "\(table) can't be rebuilt: \(reason)"
        case .unusableDefinition(let table, let reason):
            "the new definition of \(table) can't be used: \(reason)"
        case .wouldLose(let table, let losses):
            "rebuilding \(table) would lose: \(Self.list(losses))"
        case .notLost(let table, let losses):
            "rebuilding \(table) doesn't lose: \(Self.list(losses))"
        case .unknownColumn(let table, let column):
            "the new definition of \(table) has no column \(column) that can be given a value"
        case .missingValue(let table, let column):
            "the new column \(table).\(column) is NOT NULL and has no value for existing rows"
        case .brokenReference(let table, let object, let reason):
            "\(object) doesn't work with the new definition of \(table): \(reason)"
        case .foreignKeysAreOn(let table, let children):
            "\(table) can't be rebuilt in a transaction with foreign keys on: "
                + "\(children.joined(separator: ", ")) \(children.count == 1 ? "refers" : "refer") "
                + "to it"
        case .temporaryObject(let table, let name):
            "\(table) can't be rebuilt: the temporary object \(name) names it"
        case .rowRefused(let table, let reason):
            "a row of \(table) doesn't fit the new definition: \(reason)"
        case .valuesChange(let table, let column, let rows):
            "the new type of \(table).\(column) would change its value in \(rows) "
                + (rows == 1 ? "row" : "rows")
        case .rowsDiffer(let table, let before, let after):
            "\(table) had \(before) rows before the rebuild, and has \(after) after it"
        case .foreignKeysBroken(let table, let reason):
            "the rebuild breaks foreign keys of \(table): \(reason)"
        case .schemaDiffers(let table, let object):
            "after rebuilding \(table), \(object) isn't what it was"
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .noSuchTable:
            "Check the name."
        case .notRebuildable:
            "Rebuild a table that was created with CREATE TABLE."
        case .unusableDefinition:
            "Write one CREATE TABLE statement with this name and a list of columns."
        case .wouldLose:
            "Add it to the new definition, or list it in 'dropping'. "
                + "A renamed column is listed in 'columns'."
        case .notLost:
            "Remove it from 'dropping', and check its name."
        case .unknownColumn:
            "Check the name in 'columns'."
        case .missingValue:
            "Give the column a default, or an expression in 'columns'."
        case .brokenReference:
            "List it in 'dropping', and create it again after the rebuild. Drop a virtual table "
                + "before the rebuild."
        case .foreignKeysAreOn:
            "Dropping the old table would delete or change the rows that refer to it. Rebuild it "
                + "in a step of the runner with deferred foreign-key checks, or outside of a "
                + "transaction."
        case .temporaryObject:
            "Drop the temporary object first."
        case .rowRefused:
            "Give the column an expression in 'columns', such as coalesce(title, ''), or correct "
                + "the rows first."
        case .valuesChange:
            "Give the column an expression in 'columns' that converts its values."
        case .foreignKeysBroken:
            "Keep the columns that other tables refer to, with their unique key."
        case .rowsDiffer, .schemaDiffers:
            "Nothing has changed. Please report the definition of the table."
        }
    }

    private static func list(_ losses: [RebuildLoss]) -> String {
        losses.map(\.description).joined(separator: ", ")
    }
}

extension TableRebuildError: CodedError {
    /// The error's code for programs, and its exit status.
    public var code: ErrorCode {
        switch self {
        case .noSuchTable, .notRebuildable: ErrorCode("unknownTable", .usage)
        default: ErrorCode("rebuildRefused", .failed)
        }
    }
}
