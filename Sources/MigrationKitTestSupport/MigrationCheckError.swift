import Foundation

/// What a check has found to be wrong with a list of steps.
///
/// Printed, as the frameworks for tests do, it shows the difference between what was expected and
/// what was found.
public enum MigrationCheckError: Error, Equatable, Sendable {
    /// An empty database can't be migrated to the end. The step that fails, if it is one (and not
    /// a hook of the app), and why.
    case freshInstallFailed(step: String?, reason: String)

    /// A database of a version (`nil` is the empty one) can't be migrated further.
    case upgradeFailed(from: String?, step: String?, reason: String)

    /// A database of a version (`nil` is the empty one) comes to another schema than a fresh
    /// install.
    case upgradeLeadsElsewhere(from: String?, difference: String)

    /// A migrated database can't be migrated a second time.
    case secondRunFailed(step: String?, reason: String)

    /// A second run changes a migrated database.
    case secondRunChanges(difference: String)

    /// A step can't be rolled back.
    case rollbackFailed(step: String, reason: String)

    /// The rollback of a step doesn't restore the schema of the version before it.
    case rollbackLeavesOtherSchema(step: String, difference: String)

    /// A step can't be applied again after its rollback.
    case reapplicationFailed(step: String, reason: String)

    /// A step that is applied again after its rollback comes to another schema than the first time.
    case reapplicationLeadsElsewhere(step: String, difference: String)
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
            "\(Self.database(version)) is migrated to another schema than a new one"
        case .secondRunFailed(let step, let reason):
            "a migrated database can't be migrated a second time: \(Self.place(step))\(reason)"
        case .secondRunChanges:
            "a second run changes a migrated database"
        case .rollbackFailed(let step, let reason):
            "the migration '\(step)' can't be rolled back: \(reason)"
        case .rollbackLeavesOtherSchema(let step, _):
            "the rollback of '\(step)' doesn't restore the schema of the version before it"
        case .reapplicationFailed(let step, let reason):
            "the migration '\(step)' can't be applied again after its rollback: \(reason)"
        case .reapplicationLeadsElsewhere(let step, _):
            "the migration '\(step)' comes to another schema after its rollback"
        }
    }

    /// What to do about it, behind the difference if that is what was found.
    public var recoverySuggestion: String? {
        guard let difference else { return advice }
        return "What is there (+) is not what was expected (-):\n\(difference)\n\(advice)"
    }

    /// The difference between what was expected, in lines that begin with `-`, and what is there,
    /// in lines that begin with `+`; `nil` for an error that is none.
    public var difference: String? {
        switch self {
        case .upgradeLeadsElsewhere(_, let difference), .secondRunChanges(let difference),
            .rollbackLeavesOtherSchema(_, let difference),
            .reapplicationLeadsElsewhere(_, let difference):
            difference
        case .freshInstallFailed, .upgradeFailed, .secondRunFailed, .rollbackFailed,
            .reapplicationFailed:
            nil
        }
    }

    private var advice: String {
        switch self {
        case .freshInstallFailed:
            "Correct the migration. One that was shipped needs a further one that corrects it."
        case .upgradeFailed, .upgradeLeadsElsewhere:
            """
            A migration must not rely on what an earlier one leaves on the connection, such as a \
            temporary table, or on the rows that a new database has.
            """
        case .secondRunFailed, .secondRunChanges:
            "What the app does before or after every run must be safe to repeat."
        case .rollbackFailed, .rollbackLeavesOtherSchema:
            "Have the rollback undo all that the migration does, in the opposite order."
        case .reapplicationFailed, .reapplicationLeadsElsewhere:
            "Have the rollback remove the rows, too, that the migration inserts."
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
