import MigrationKit
import MigrationKitGRDB
import MigrationKitSQL

extension MigrationKitError: ToolSuggesting {
    var suggestion: String? {
        switch self {
        case .unknownMigrationTarget, .unknownMigrationIdentifier:
            "'status' lists the migrations."
        case .rollbackTargetNotApplied:
            "'status' shows what is applied. 'migrate' goes forward."
        case .pendingBeforeApplied(let pending, _):
            """
            It may come from another branch. If others have it already, or it doesn't depend on later \
            migrations: --allow-out-of-order. If what it does is in the database already, \
            \(pending.map { "'repair --applied \($0.shellWord)'" }.prefix(1).joined()) records it. \
            Otherwise give it the next number.
            """
        case .appliedMigrationsMissing(let identifiers):
            """
            Restore its file: never delete an applied migration. It may be on another branch. \
            'status' lists all.\(Self.encodingHint(identifiers)) \(Self.wayOut(identifiers))
            """
        case .databaseIsNewer(_, let steps) where steps.contains(where: \.isBegun):
            Self.waysOut(of: steps, downgrade: "'\(Program.name) downgrade' takes them back") + "\n"
                + Self.waysOut(ofBegun: steps)
        case .databaseIsNewer(let identifiers, let steps)
        where steps.contains { $0.older != nil || $0.canBeTakenBack }:
            """
            \(Self.waysOut(of: steps, downgrade: "'\(Program.name) downgrade' takes them back"))
            If the files were renamed or deleted, restore them. \(Self.wayOut(identifiers))
            """
        case .databaseIsNewer(let identifiers, _):
            """
            If a newer program has applied them, use its release, or a later one. If the files were \
            renamed or deleted, restore them. \(Self.wayOut(identifiers))
            """
        case .changedAfterApplied(let identifiers):
            """
            Undo the change, and write a new migration for the rest: the old text has already run. \
            If the new text has the same effect, or this is the only such database, \
            'repair \(identifiers.joined(separator: " "))' accepts it.
            """
        case .changedSinceBegun(_, canBeTakenBack: true):
            """
            Some rows are as the old text made them. Put it back, with its 'migrate:batch', and 'migrate' \
            goes on. Or take it back by 'rollback', with the SQL that the database has kept: the new text \
            then begins anew.
            """
        case .changedSinceBegun:
            """
            Some rows are as the old text made them. Put it back, with its 'migrate:batch', and 'migrate' \
            goes on. The database has no SQL that takes back what is done.
            """
        case .redoOutOfOrder:
            """
            Nothing was changed. 'rollback' takes it back. 'migrate --allow-out-of-order' then applies it \
            again.
            """
        case .downgradeDiffers:
            "\(recoverySuggestion ?? "") --ignore-table leaves tables out, with their indexes."
        case .noKnownMigration:
            """
            Nothing was changed. It may be another program's database, or --migrations may name the \
            wrong folder. To go back nevertheless, name the migration with --to.
            """
        case .baselineOnMigratedDatabase:
            """
            A baseline is for databases that have never been migrated. Use 'migrate'. If a migration's \
            result is there already, 'repair --applied <identifier>' records that one. What was recorded \
            by mistake, 'repair --forget <identifier>' takes out.
            """
        default:
            recoverySuggestion
        }
    }

    /// For steps of which some are begun. Those can't be renamed in the record.
    private static func waysOut(ofBegun steps: [NewerMigration]) -> String {
        let begun = steps.filter(\.isBegun).map(\.identifier)
        let others = steps.filter { !$0.isBegun }.map(\.identifier)
        let way = """
            If the file of \(begun.joined(separator: ", ")) was renamed or deleted, put it back under that \
            name: 'migrate' then goes on. If it was deleted on purpose, and what its batches have done is \
            to stay: 'repair --forget \(begun.first?.shellWord ?? "")'.
            """
        return others.isEmpty
            ? way : "\(way)\nIf the files of others were, restore them, too. \(wayOut(others))"
    }

    private static func wayOut(_ identifiers: [String]) -> String {
        let old = identifiers.first ?? "<old>"
        return """
            If this was done on purpose, update the record ('status' finds the new name):
              repair --rename \(old.shellWord)=<new>
              repair --forget \(old.shellWord)
            """
    }
}

extension MigrationRepairError: ToolSuggesting {
    var suggestion: String? {
        switch self {
        case .notApplied: "'status' lists the applied migrations. Give the name in full."
        case .alreadyApplied:
            "If it was to be renamed, and the old entry is not needed, use --forget instead."
        case .stillThere:
            """
            It has run: only what was recorded without running is taken out of the record. To undo it, \
            use 'rollback'. To accept its new text, use 'repair' with its name alone.
            """
        case .begun:
            """
            With its name and its text, 'migrate' goes on from there. 'rollback' undoes what is done; \
            'downgrade', if its file is gone.
            """
        }
    }
}

extension MigrationFolderError: ToolSuggesting {
    var suggestion: String? {
        switch self {
        case .noSuchFolder where !MigrationsOptions.foldersOfOtherTools.isEmpty:
            "Other tools' usual folders are here. If it is one of them:\n"
                + MigrationsOptions.foldersOfOtherTools.map { "  --migrations \($0)" }
                .joined(separator: "\n")
        case .noSuchFolder:
            """
            Give the folder of the SQL files with --migrations. 'create <name>' creates it with a \
            first migration. In a new project, 'init' also writes the settings.
            """
        case .empty:
            (["'create <name>' writes the first one."] + [recoverySuggestion].compactMap { $0 })
                .joined(separator: "\n")
        default: recoverySuggestion
        }
    }
}
