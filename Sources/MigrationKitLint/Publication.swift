import GRDB
import MigrationKit

/// The rules about migrations that were merged or applied, and about the list of migrations.
enum Publication {
    /// Compares migrations with those that must not change any more.
    static func findings(
        in steps: [MigrationStep<Database>],
        _ published: [MigrationLint.Published]
    ) -> [LintFinding] {
        published.flatMap { findings(in: steps, $0) }
    }

    private static func findings(
        in steps: [MigrationStep<Database>],
        _ published: MigrationLint.Published
    ) -> [LintFinding] {
        let checksums = Dictionary(published.migrations.map { ($0.identifier, $0.checksum) }) {
            first,
            _ in first
        }
        let known = Set(steps.map(\.identifier)).union(steps.flatMap(\.mergedIdentifiers))
        let removed = published.migrations.filter { !known.contains($0.identifier) }.map {
            LintFinding(
                rule: .migrationRemoved,
                migration: $0.identifier,
                message: "the migration is in \(published.source), and is missing here",
                fix: "Restore the file, and write a new migration to undo what it did."
            )
        }
        let changed = steps.filter { step in
            guard let former = checksums[step.identifier] ?? nil, let now = step.checksum
            else { return false }
            return former != now
        }.map {
            LintFinding(
                rule: .migrationChanged,
                migration: $0.identifier,
                file: $0.sourceFile,
                line: nil,
                message: "the migration differs from that in \(published.source), which "
                    + "databases have applied",
                fix: "Undo the change, and put it into a new migration."
            )
        }
        let last = steps.lastIndex { checksums.keys.contains($0.identifier) } ?? 0
        let inserted = steps[..<last].filter { step in
            !checksums.keys.contains(step.identifier)
                && step.mergedIdentifiers.isDisjoint(with: checksums.keys)
        }.map {
            LintFinding(
                rule: .migrationInserted,
                migration: $0.identifier,
                file: $0.sourceFile,
                message: "the migration comes before '\(steps[last].identifier)', which is in "
                    + "\(published.source) already",
                fix: "Give it a number after the last one."
            )
        }
        return removed + changed + inserted
    }

    /// Migrations that can't be undone, in a project whose others can.
    static func withoutWayDown(
        in steps: [MigrationStep<Database>],
        selected: (MigrationStep<Database>) -> Bool
    ) -> [LintFinding] {
        guard steps.contains(where: \.canRollBack) else { return [] }
        return steps.filter { !$0.canRollBack && selected($0) }.map {
            LintFinding(
                rule: .noRollback,
                migration: $0.identifier,
                file: $0.sourceFile,
                message: "the migration has no rollback, although others of the project have one",
                fix: "Write the rollback."
            )
        }
    }
}
