import Foundation
import GRDB
import MigrationKit
import MigrationKitCommon

/// Why a verification failed.
public enum GRDBMigrationVerificationError: Error, Equatable, Sendable {
    /// SQLite's `quick_check` found damage. `result` is the first line of its answer.
    case quickCheckFailed(result: String)

    /// A step has written to `sqlite_schema` (`writable_schema`), and `quick_check` finds that the tables
    /// don't fit. The step is undone.
    case schemaEditFailed(result: String)

    /// A table refers to a table that doesn't exist. SQLite lets it be declared, and then refuses
    /// to write to the table while foreign keys are on.
    case missingParent(table: String, parent: String)

    /// Rows refer to parents that don't exist.
    case foreignKeyViolations(count: Int)

    /// A required index doesn't exist.
    case missingIndex(table: String, index: String)

    /// The table of a required index doesn't exist.
    case missingTable(table: String, index: String)

    /// A full-text table doesn't match the table or view with its texts, whose rows it finds by their
    /// rowids. `VACUUM` gives the rows of a table without an `INTEGER PRIMARY KEY` other ones.
    case fullTextMismatch(table: String, content: String)

    /// What a step requires doesn't hold. The step wasn't begun.
    case requirementFailed(step: String, CheckViolations)

    /// A check of a step, or of the runner, found rows that violate it.
    case checkFailed(CheckViolations)

    /// A check can't be run: it is no query, or SQLite refuses it.
    case unusableCheck(name: String, reason: String)
}

extension GRDBMigrationVerificationError: LocalizedError {
    /// What is wrong, in one line.
    public var errorDescription: String? {
        switch self {
        case .quickCheckFailed(let result):
            "the database is damaged: \(result)"
        case .schemaEditFailed(let result):
            "the tables don't fit the schema that it wrote into sqlite_schema: \(result)"
        case .missingParent(let table, let parent):
            "the table '\(table)' refers to the table '\(parent)', which doesn't exist"
        case .foreignKeyViolations(let count):
            "\(count) \(count == 1 ? "row refers" : "rows refer") to a parent that doesn't exist"
        case .missingIndex(let table, let index):
            "the index '\(index)' on the table '\(table)' is missing"
        case .missingTable(let table, let index):
            "the table '\(table)' is missing, and with it the index '\(index)'"
        case .fullTextMismatch(let table, let content):
            "the full-text table '\(table)' doesn't match the rows of '\(content)', which it finds by "
                + "their rowids"
        case .requirementFailed(let step, let violations):
            "\(step) needs: \(violations.check); \(violations.rows)"
        case .checkFailed(let violations):
            "the check '\(violations.check)' found \(violations.rows)"
        case .unusableCheck(let name, let reason):
            "the check '\(name)' can't be run: \(reason)"
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .quickCheckFailed:
            """
            If a migration was running, verify the database: if it is sound, that migration would have \
            damaged it, and was undone. Otherwise, restore the database from a backup. Until then, write \
            nothing to it.
            """
        case .schemaEditFailed:
            """
            Nothing was damaged: what it wrote was undone. Correct what it writes with 'writable_schema', or \
            the rows before it; a rebuild of the table needs no 'writable_schema'. If a verification finds \
            the same without it, the database was so before.
            """
        case .missingParent:
            "Create that table, or give the referring table a definition without the reference."
        case .foreignKeyViolations:
            "'PRAGMA foreign_key_check' lists them. Correct the rows, or the migration that left them."
        case .missingIndex, .missingTable:
            "Apply the migration that creates it, or correct the required name."
        case .fullTextMismatch(let table, _):
            """
            Rebuild it: INSERT INTO \(GRDBMigrationSQLHelpers.quoted(table)) \
            (\(GRDBMigrationSQLHelpers.quoted(table))) VALUES ('rebuild'). The migration that creates it, \
            changes rows that no trigger follows, or runs VACUUM does so.
            """
        case .requirementFailed:
            "Correct the rows, and run it again. The check's query lists them."
        case .checkFailed:
            "Correct the migration, or the rows from before it. The check's query lists them."
        case .unusableCheck:
            "Correct its query: one SELECT without parameters, at whose rows SQLite doesn't fail."
        }
    }
}

extension GRDBMigrationVerificationError: CodedError {
    /// The error's code for programs, and its exit status.
    public var code: ErrorCode {
        switch self {
        case .quickCheckFailed(let result) where result.isAboutPages:
            ErrorCode("damaged", .inputOutput)
        case .quickCheckFailed, .schemaEditFailed, .missingParent, .foreignKeyViolations,
            .missingIndex,
            .missingTable, .fullTextMismatch:
            ErrorCode("verificationFailed", .verificationFailed)
        case .requirementFailed: ErrorCode("requirementFailed", .verificationFailed)
        case .checkFailed: ErrorCode("checkFailed", .verificationFailed)
        case .unusableCheck: ErrorCode("unusableCheck", .dataError)
        }
    }
}

extension String {
    /// Whether a finding of `quick_check` is about the file's pages, and not about a row's values.
    /// Before SQLite 3.42, it says "On tree page 4 cell 2" and "Main freelist".
    /// <https://github.com/sqlite/sqlite/blob/master/src/btree.c> (`checkAppendMsg`)
    fileprivate var isAboutPages: Bool {
        ["Tree ", "Page ", "Freelist: ", "On tree page ", "Main freelist: "].contains(
            where: hasPrefix
        )
    }
}
