import MigrationKitSchema

/// What differs between two schemas, by table.
struct ChangeList {
    let changes: [SchemaChange]
    var style = Style.plain

    /// The lines for people.
    var text: String {
        var tables: [String] = []
        var groups: [String: [SchemaChange]] = [:]
        for change in changes {
            let key = change.table.lowercased()
            if groups[key] == nil { tables.append(key) }
            groups[key, default: []].append(change)
        }
        return tables.flatMap { key -> [String] in
            let group = groups[key] ?? []
            return [group[0].table.printable] + group.map { "  \(line($0))" }
        }.joined(separator: "\n")
    }

    private func line(_ change: SchemaChange) -> String {
        let (sign, color): (String, Style.Color) =
            switch change.action {
            case .added: ("+", .green)
            case .dropped: ("-", .red)
            case .changed, .renamed: ("~", .yellow)
            }
        return "\(style.text(sign, color)) \(subject(of: change))\(detail(change))"
    }

    private func subject(of change: SchemaChange) -> String {
        let name = change.name.oneLine.printable
        switch change.kind {
        case .table, .view:
            // Its name is the heading.
            return change.kind.rawValue
        case .column, .option, .index, .trigger:
            return "\(change.kind.rawValue) \(name)"
        case .primaryKey, .unique, .check, .foreignKey:
            // The text begins with it.
            return name
        }
    }

    /// The definitions, if they are short.
    private func detail(_ change: SchemaChange) -> String {
        let (before, after) = (change.before?.oneLine.printable, change.after?.oneLine.printable)
        let texts = [before, after].compactMap { $0 }.filter { $0 != change.name }
        guard texts.allSatisfy({ $0.count <= 100 }), !texts.isEmpty else { return "" }
        switch change.action {
        case .added: return after.map { ": \($0)" } ?? ""
        case .dropped: return ""
        case .changed: return ": \(before ?? "nothing") -> \(after ?? "nothing")"
        case .renamed: return before.map { " (was \($0))" } ?? ""
        }
    }
}

extension String {
    fileprivate var oneLine: String {
        split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
}
