/// The boxes of a diagram: a schema's tables, and missing tables that it refers to.
struct DiagramNodes {
    struct Node {
        let name: String
        /// `nil` if the table is referred to but doesn't exist.
        let table: SchemaDescription.Table?
    }

    let nodes: [Node]

    init(of schema: SchemaDescription) {
        let tables = schema.tables.map { Node(name: $0.name, table: $0) }
        nodes = schema.tables.flatMap(\.references).reduce(into: tables) { nodes, reference in
            guard !nodes.contains(where: { $0.name.isSameName(as: reference.table) }) else {
                return
            }
            nodes.append(Node(name: reference.table, table: nil))
        }
    }

    /// The index of a table's box.
    func index(of table: String) -> Int? {
        nodes.firstIndex { $0.name.isSameName(as: table) }
    }
}

/// Text of a schema, made readable.
enum DiagramText {
    /// A name as a diagram shows it: on one line, without characters that no font has, and never
    /// empty.
    static func shown(_ name: String) -> String {
        guard !name.isEmpty else { return "\"\"" }
        return String(String.UnicodeScalarView(name.unicodeScalars.map(shown)))
    }

    private static func shown(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        switch scalar.properties.generalCategory {
        case .control where scalar.properties.isWhitespace, .lineSeparator, .paragraphSeparator: " "
        // XML, which diagrams are made of, doesn't allow them.
        case .control, .unassigned: "\u{FFFD}"
        default: scalar
        }
    }
}
