import MigrationKitCommon
import MigrationKitGRDB

/// How the schema of a database compares with the one that its applied steps give.
public enum SchemaDrift: Sendable {
    /// The schemas are the same.
    case same

    /// Only the order of columns differs, which is no fault: where two branches have added columns, a
    /// database may have them in another order than a new one. A statement without the columns' names
    /// depends on it, such as `INSERT INTO new SELECT * FROM old`.
    case sameInOtherOrder([SchemaChange])

    /// The schemas differ. The difference leads from the database's schema to the one that the
    /// applied steps give: what it calls added is missing from the database. A `SchemaMigration`
    /// of it brings the database back.
    case differs(SchemaDifference)

    /// The schemas can't be compared, for this reason: the database has steps that the runner
    /// doesn't know, or a step needs rows, functions or files that it doesn't find.
    case notCompared(reason: String)

    /// Whether the schemas were compared, and are the same.
    public var isSame: Bool {
        switch self {
        case .same, .sameInOtherOrder: true
        case .differs, .notCompared: false
        }
    }

    /// What to know of the comparison that is no fault; `nil` if there is nothing.
    package var note: String? {
        switch self {
        case .same, .differs: nil
        case .sameInOtherOrder(let changes): changes.map(\.driftText).joined(separator: "; ")
        case .notCompared(let reason): "not compared: \(reason)"
        }
    }

    /// What differs; empty if nothing does, or nothing was compared.
    public var changes: [SchemaChange] {
        if case .differs(let difference) = self { difference.changes } else { [] }
    }

    /// What differs, each in one line, such as `table notes: index notes_title is missing`.
    public var texts: [String] { changes.map(\.driftText) }
}

extension SchemaDrift: Encodable {
    /// Encodes what differs, unless nothing was compared, and what to know beside it.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .same, .sameInOtherOrder, .differs:
            try encoder.encode(["drift": changes.map(\.driftFields), "driftNote": note])
        case .notCompared(let reason):
            try encoder.encode(["driftNote": reason])
        }
    }
}

extension SchemaChange {
    /// The fields of what differs in a database whose applied steps give what this change leads to.
    package var driftFields: JSONFields {
        let state =
            switch action {
            case .added: "missing"
            case .dropped: "unexpected"
            case .changed, .renamed: "changed"
            }
        return [
            "text": driftText, "state": state, "kind": kind.rawValue, "table": table, "name": name,
        ]
    }

    /// Whether a table has the same columns in another order.
    var isOrderOfColumns: Bool { kind == .option && name == Self.orderOfColumns }

    static let orderOfColumns = "order of columns"

    /// What differs in a database whose applied steps give what this change leads to.
    package var driftText: String {
        let subject =
            switch kind {
            case .table, .view: "\(kind.rawValue) \(table)"
            case .column: "column \(table).\(name)"
            case .index, .trigger: "table \(table): \(kind.rawValue) \(name)"
            case .primaryKey, .unique, .check, .foreignKey, .option: "table \(table): \(name)"
            }
        switch action {
        case .added: return "\(subject) is missing"
        case .dropped: return "\(subject) comes from no applied migration"
        case .changed, .renamed: break
        }
        guard kind != .trigger, kind != .view, let before, let after else {
            return "\(subject) differs from that of the migrations"
        }
        let present = before.isEmpty ? "nothing" : before.inOneLine
        return "\(subject): \(present), the migrations give \(after.inOneLine)"
    }
}

extension String {
    fileprivate var inOneLine: String {
        split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
}
