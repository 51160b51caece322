import MigrationKit

extension MigrationKitError {
    /// What to do about it, with the tool's commands and options. The library itself doesn't know
    /// them.
    var suggestion: String? {
        switch self {
        case .pendingBeforeApplied:
            """
            It came in late, from another branch perhaps. Give it a number after the latest; or say \
            --allow-out-of-order, if it depends on nothing that comes later.
            """
        case .appliedMigrationsMissing(let identifiers):
            """
            Bring the file back: a migration that was applied is never deleted. Or did it come from \
            another branch? 'status' lists all. \(Self.wayOut(identifiers))
            """
        case .databaseIsNewer(let identifiers):
            """
            If a newer program has applied them, use its release, or a later one. If the files were \
            renamed or deleted, bring them back. \(Self.wayOut(identifiers))
            """
        default:
            recoverySuggestion
        }
    }

    private static func wayOut(_ identifiers: [String]) -> String {
        let old = identifiers.first ?? "<old>"
        return """
            If it has to stay that way, this brings the record in line:
              repair --rename \(old.shellWord)=<new>
              repair --forget \(old.shellWord)
            """
    }
}
