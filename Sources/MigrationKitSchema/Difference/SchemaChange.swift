import MigrationKitCommon

/// One thing that differs between two schemas.
public struct SchemaChange: Hashable, Sendable {
    /// What happens to it on the way from the present schema to the wanted one.
    public enum Action: String, Sendable, CaseIterable {
        case added, dropped, changed, renamed
    }

    /// What it is.
    public enum Kind: String, Sendable, CaseIterable {
        case table, column
        case primaryKey = "primary-key"
        case unique, check
        case foreignKey = "foreign-key"
        /// `STRICT`, `WITHOUT ROWID`, `AUTOINCREMENT`, the order of columns, or a module's arguments.
        case option
        case index, trigger, view
    }

    /// What happens to it.
    public let action: Action

    /// What it is.
    public let kind: Kind

    /// The table or view that it belongs to, by its new name; itself, for a table or a view.
    public let table: String

    /// Its name: that of the object or the column, or the text of a constraint.
    public let name: String

    /// What it was, as SQL; the old name of what is renamed; `nil` if it is added.
    public let before: String?

    /// What it becomes; `nil` if it is dropped.
    public let after: String?
}

extension SchemaChange: Encodable {
    /// Encodes the change.
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "action": action.rawValue, "kind": kind.rawValue, "table": table, "name": name,
            "before": before, "after": after,
        ])
    }
}

extension SchemaChange: CustomStringConvertible {
    /// The change in one line, such as `column notes.body: TEXT -> TEXT NOT NULL`.
    public var description: String {
        switch (action, kind) {
        case (.renamed, _): "\(subject): renamed from \(before ?? "")"
        case (.added, .column): "\(subject): added, \(after ?? "")"
        case (.added, _): "\(subject): added"
        case (.dropped, _): "\(subject): dropped"
        case (.changed, .view), (.changed, .trigger): "\(subject): changed"
        case (.changed, _): "\(subject): \(before ?? "") -> \(after ?? "")"
        }
    }

    private var subject: String {
        switch kind {
        case .table, .view: "\(kind.rawValue) \(name)"
        case .column: "column \(table).\(name)"
        case .primaryKey, .unique, .check, .foreignKey, .option: "table \(table), \(name)"
        case .index, .trigger: "\(kind.rawValue) \(name) on \(table)"
        }
    }
}
