import Foundation

/// What is wrong with a list of steps.
///
/// Printed, as test frameworks do, it shows the difference between what was expected and what was
/// found.
public enum MigrationCheckError: Error, Equatable, Sendable {
    /// An empty database can't be migrated to the end. `step` is the step that fails, or `nil` for
    /// a hook of the app.
    case freshInstallFailed(step: String?, reason: String)

    /// A database of a version (`nil` is the empty one) can't be migrated further.
    case upgradeFailed(from: String?, step: String?, reason: String)

    /// A database of a version (`nil` is the empty one) gets another schema than a fresh install.
    case upgradeLeadsElsewhere(from: String?, difference: String)

    /// A migrated database can't be migrated a second time.
    case secondRunFailed(step: String?, reason: String)

    /// A second run changes a migrated database.
    case secondRunChanges(difference: String)

    /// A step can't be rolled back.
    case rollbackFailed(step: String, reason: String)

    /// The rollback of a step doesn't restore the schema of the version before it.
    case rollbackLeavesOtherSchema(step: String, difference: String)

    /// The rollback of a step doesn't leave the rows of a table as they were, although the step itself
    /// does. Only the command `test` finds this, with generated rows.
    case rollbackLeavesOtherRows(step: String, difference: String)

    /// Rows that were there are gone after a step or have other values, although no statement of it says
    /// so. Only the command `test` finds this, with generated rows.
    case rowsAreLost(step: String, difference: String)

    /// A step outside of a transaction was interrupted before it was recorded, and changes the database
    /// once more when it runs again. Only the command `test` finds this.
    case repeatChanges(step: String, difference: String)

    /// A step can't be applied again after its rollback.
    case reapplicationFailed(step: String, reason: String)

    /// A step that is applied again after its rollback produces another schema than the first time.
    case reapplicationLeadsElsewhere(step: String, difference: String)

    /// Older versions should work with a step, but a statement of the version before it doesn't.
    case olderVersionFails(step: String, statement: String, reason: String)
}

extension MigrationCheckError: LocalizedError {
    /// What is wrong, in one line.
    public var errorDescription: String? {
        switch self {
        case .freshInstallFailed(let step, let reason):
            "a new database can't be migrated to the end: \(Self.place(step))\(reason)"
        case .upgradeFailed(let version, let step, let reason):
            "\(Self.database(version)) can't be migrated further: \(Self.place(step))\(reason)"
        case .upgradeLeadsElsewhere(let version, _):
            "\(Self.database(version)) is migrated to a different schema from a new database"
        case .secondRunFailed(let step, let reason):
            "a migrated database can't be migrated a second time: \(Self.place(step))\(reason)"
        case .secondRunChanges:
            "a second run changes a migrated database"
        case .rollbackFailed(let step, let reason):
            "the migration '\(step)' can't be rolled back: \(reason)"
        case .rollbackLeavesOtherSchema(let step, _):
            "the rollback of '\(step)' doesn't restore the schema of the version before it"
        case .rollbackLeavesOtherRows(let step, _):
            "the rollback of '\(step)' doesn't leave the rows as they were before the migration"
        case .rowsAreLost(let step, _):
            "the migration '\(step)' loses or changes rows that were there"
        case .repeatChanges(let step, _):
            "the migration '\(step)' changes the database once more if it is interrupted and runs again"
        case .reapplicationFailed(let step, let reason):
            "the migration '\(step)' can't be applied again after its rollback: \(reason)"
        case .reapplicationLeadsElsewhere(let step, _):
            "the migration '\(step)' produces a different schema after its rollback"
        case .olderVersionFails(let step, let statement, let reason):
            "older versions should work with '\(step)', but '\(statement)' fails: \(reason)"
        }
    }

    /// What to do about it, after the difference if there is one.
    public var recoverySuggestion: String? {
        guard let difference else { return advice }
        return "Found (+) instead of expected (-):\n\(difference)\n\(advice)"
    }

    /// The difference: expected lines begin with `-`, and found lines with `+`; `nil` if the error
    /// has none.
    public var difference: String? {
        switch self {
        case .upgradeLeadsElsewhere(_, let difference), .secondRunChanges(let difference),
            .rollbackLeavesOtherSchema(_, let difference),
            .rollbackLeavesOtherRows(_, let difference), .repeatChanges(_, let difference),
            .rowsAreLost(_, let difference),
            .reapplicationLeadsElsewhere(_, let difference):
            difference
        case .freshInstallFailed, .upgradeFailed, .secondRunFailed, .rollbackFailed,
            .reapplicationFailed, .olderVersionFails:
            nil
        }
    }

    var advice: String {
        switch self {
        case .freshInstallFailed:
            "Correct the migration. If it was shipped, add a new one that corrects it."
        case .upgradeFailed, .upgradeLeadsElsewhere:
            """
            A migration must not rely on what an earlier one leaves on the connection, such as a \
            temporary table, or on the rows that a new database has.
            """
        case .secondRunFailed, .secondRunChanges:
            "What the app does before or after every run must be safe to repeat."
        case .rollbackFailed, .rollbackLeavesOtherSchema, .rollbackLeavesOtherRows:
            "Make the rollback undo everything that the migration does, in reverse order."
        case .rowsAreLost:
            """
            Copy every row, with the columns named on both sides. If it is intended, say it with DELETE \
            or UPDATE, or above the statement: -- migrationkit:allow rebuild-loses-rows REASON
            """
        case .repeatChanges:
            """
            It runs outside of a transaction. Put what can run in one into a migration of its own, and \
            write the rest so that it can be repeated, with IF EXISTS and IF NOT EXISTS.
            """
        case .reapplicationFailed, .reapplicationLeadsElsewhere:
            "Make the rollback also remove the rows that the migration inserts."
        case .olderVersionFails:
            "Change the migration, or let it say that it breaks older versions, and why."
        }
    }

    /// What failed, in the words of what failed; otherwise what is wrong.
    var reason: String {
        switch self {
        case .freshInstallFailed(_, let reason), .upgradeFailed(_, _, let reason),
            .secondRunFailed(_, let reason), .rollbackFailed(_, let reason),
            .reapplicationFailed(_, let reason), .olderVersionFails(_, _, let reason):
            reason
        default: localizedDescription
        }
    }

    private static func database(_ version: String?) -> String {
        version.map { "a database at '\($0)'" } ?? "an empty database"
    }

    private static func place(_ step: String?) -> String {
        step.map { "in '\($0)', " } ?? ""
    }
}

extension MigrationCheckError: CustomStringConvertible {
    /// What is wrong, the difference, and what to do about it.
    public var description: String {
        [errorDescription, recoverySuggestion].compactMap { $0 }.joined(separator: "\n")
    }
}
