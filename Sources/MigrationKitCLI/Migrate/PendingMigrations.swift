import Foundation
import MigrationKit
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitSQL

/// The pending migrations, and what 'migrate' would do with them.
struct PendingMigrations {
    /// All of them, in order.
    let identifiers: [String]

    /// The pending migrations that come before an applied one without permission.
    let late: Set<String>

    /// The migrations whose files have no SQL yet.
    let drafts: Set<String>

    /// Whether 'migrate' refuses the database for another reason.
    let isRefused: Bool

    /// - Parameter isAdopted: Whether no other tool's database must be adopted first.
    init(_ overview: MigrationOverview, of store: OpenStore, isAdopted: Bool = true) {
        let known = Set(store.runner.migrationIdentifiers)
        let hasUnknownBegun = overview.begun.keys.contains { !known.has($0) }
        self.init(
            overview.pending,
            late: overview.late,
            folder: store.folder,
            isRefused: !overview.changed.isEmpty || !overview.missing.isEmpty
                || !overview.newer.isEmpty || hasUnknownBegun || !isAdopted
        )
    }

    init(
        _ identifiers: [String],
        late: [String] = [],
        folder: MigrationFolder?,
        isRefused: Bool = false
    ) {
        self.identifiers = identifiers
        self.late = Set(late)
        self.drafts = Set(folder?.drafts ?? []).intersection(identifiers)
        self.isRefused = isRefused
    }

    /// How many there are, and what applies them.
    var summary: String {
        guard !identifiers.isEmpty else { return "Nothing is pending." }
        let applies = "'migrate' applies \(identifiers.count == 1 ? "it" : "them")"
        guard isRefused || !late.isEmpty || !drafts.isEmpty else {
            return "\(identifiers.count) pending: \(applies)."
        }
        var lines = ["\(identifiers.count) pending."]
        if !late.isEmpty {
            lines.append(
                "\(late.count) late: a later migration is applied. 'migrate' needs --allow-out-of-order."
            )
        }
        if !drafts.isEmpty {
            lines.append(
                "\(drafts.count) \(drafts.count == 1 ? "is a draft" : "are drafts"): "
                    + "write \(drafts.count == 1 ? "its" : "their") SQL before 'migrate'."
            )
        }
        return lines.joined(separator: "\n")
    }
}

// MARK: - Migration Identifiers

extension GRDBMigrationRunner {
    /// The identifier for the text that the user typed: the whole identifier, or its beginning.
    ///
    /// - Parameters:
    ///   - text: What was typed.
    ///   - unknown: The error if no migration begins with it.
    /// - Throws: ``CommandError``; ``MigrationCLIError/ambiguousMigration(_:candidates:)``.
    func identifier(
        _ text: String,
        else unknown: (String) -> MigrationKitError = MigrationKitError.unknownMigrationIdentifier
    ) throws -> String {
        // As the migrations have it, whose accents may be encoded otherwise than those typed.
        if let identifier = migrationIdentifiers.first(where: { $0 == text }) { return identifier }
        // A number is compared as a whole: 1 means 0001, and isn't the beginning of 10.
        if text.allSatisfy({ ("0"..."9").contains($0) }), let number = text.number {
            let numbered = migrationIdentifiers.filter { $0.number == number }
            if numbered.count == 1 { return numbered[0] }
        }
        let candidates = text.isEmpty ? [] : migrationIdentifiers.filter { $0.hasPrefix(text) }
        guard candidates.count <= 1 else {
            throw MigrationCLIError.ambiguousMigration(text, candidates: candidates)
        }
        guard let candidate = candidates.first else {
            let error = unknown(text)
            let nearest = nearest(to: text, among: migrationIdentifiers)
            throw CommandError(
                error.code,
                error.errorDescription,
                nearest.map { "Did you mean '\($0)'?" } ?? error.suggestion
            )
        }
        return candidate
    }
}

extension String {
    /// The number at the beginning of a name, without leading zeros.
    fileprivate var number: Substring? {
        let digits = drop { $0 == "V" }.prefix { ("0"..."9").contains($0) }
        return digits.isEmpty ? nil : digits.drop { $0 == "0" }
    }
}
