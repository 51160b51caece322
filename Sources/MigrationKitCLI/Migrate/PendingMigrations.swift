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
    private let isRefused: Bool

    /// - Parameter isAdopted: Whether no other tool's database must be adopted first.
    init(_ overview: MigrationOverview, of store: OpenStore, isAdopted: Bool = true) {
        self.init(
            overview.pending,
            late: overview.late,
            folder: store.folder,
            isRefused: !overview.changed.isEmpty || !overview.missing.isEmpty
                || !overview.newer.isEmpty || !isAdopted
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
