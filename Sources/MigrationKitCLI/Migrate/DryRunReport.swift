import MigrationKit
import MigrationKitGRDB
import MigrationKitSQL

extension CommandContext {
    /// Runs a dry run, and reports what a run would do.
    ///
    /// - Parameters:
    ///   - adoption: What would be recorded first, if another tool's database is adopted.
    func reportDryRun(
        on store: OpenStore,
        recording adoption: MigrationAdoption? = nil,
        options: MigrationOptions,
        json: Bool,
        _ run: (MigrationOptions) throws -> MigrationPreview
    ) throws {
        let notes = try json ? store.notes(with: adoption, in: self) : nil
        let preview = try store.watch(options, in: self, adopts: adoption != nil, run)
        if json {
            return try printJSON(
                preview,
                fields: [
                    "database": store.path, "dryRun": true, "isNew": store.isNew ? true : nil,
                    "wouldRecord": adoption?.identifiers, "notes": notes,
                    "notTried": preview.notTried.isEmpty ? nil : preview.notTried,
                ]
            )
        }
        if let adoption { output(adoption.identifiers.previewSummary) }
        guard !preview.steps.isEmpty else {
            return output(preview.untried ?? "Nothing to apply.")
        }
        output("Would apply \(preview.steps.summaryWithRows)")
        for object in preview.objects {
            output("\(object.kind.rawValue.padded(to: 7)) \(object.type) \(object.name.printable)")
        }
        for step in preview.steps {
            let reasons = step.older?.reasons ?? []
            guard !reasons.isEmpty else { continue }
            output("\nOlder versions may fail after \(step.identifier.printable):")
            reasons.forEach { output("  - \($0.printable)") }
        }
        let difference = lineDifference(from: preview.schemaBefore, to: preview.schemaAfter)
        if !difference.isEmpty {
            output("\nThe schema would change by:")
            output(difference.map(\.printable).joined(separator: "\n"))
        }
        if let untried = preview.untried { output("\n\(untried)") }
        // Violations that may remain aren't counted here.
        let verdict = options.allowsViolations ? "Undone" : "Verified, and undone"
        output("\n\(verdict): nothing has changed.")
    }
}

extension MigrationPreview {
    /// What a run would apply besides; `nil` if all was tried.
    fileprivate var untried: String? {
        guard let first = notTried.first else { return nil }
        let count = notTried.count
        return """
            Would also apply \(counted(count, "migration")), not tried here:
            \(notTried.map { "  \($0.printable)" }.joined(separator: "\n"))
            \(first.printable) can't run in the transaction that a dry run undoes\
            \(count > 1 ? ", and what follows may need it" : "").
            """
    }
}

/// The lines that are gone (`-`) and new (`+`), in the order of the texts.
func lineDifference(from before: String, to after: String) -> [String] {
    let old = before.split(separator: "\n", omittingEmptySubsequences: false)
    let new = after.split(separator: "\n", omittingEmptySubsequences: false)
    let difference = new.difference(from: old)
    let removed = Set(difference.removals.map(\.offset))
    let inserted = Set(difference.insertions.map(\.offset))

    var lines: [String] = []
    var (oldIndex, newIndex) = (0, 0)
    while oldIndex < old.count || newIndex < new.count {
        if removed.contains(oldIndex) {
            lines.append("- \(old[oldIndex])")
            oldIndex += 1
        } else if inserted.contains(newIndex) {
            lines.append("+ \(new[newIndex])")
            newIndex += 1
        } else {
            oldIndex += 1
            newIndex += 1
        }
    }
    return lines.filter { $0.count > 2 }.map { $0.trimmingTrailingSpaces() }
}

extension CollectionDifference.Change {
    fileprivate var offset: Int {
        switch self {
        case .insert(let offset, _, _), .remove(let offset, _, _): offset
        }
    }
}

extension OpenStore {
    /// What a document says of an adoption and of the migrations that are about to run; `nil` if there
    /// is neither.
    func notes(
        with adoption: MigrationAdoption?,
        in context: CommandContext
    ) throws -> [String]? {
        let notes = try (adoption?.notes ?? []) + notesOfPending(in: context)
        return adoption == nil && notes.isEmpty ? nil : notes
    }
}
