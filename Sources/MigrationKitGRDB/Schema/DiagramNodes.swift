/// The boxes of a diagram: the tables of a schema, and those that it refers to and doesn't have.
struct DiagramNodes {
    struct Node {
        let name: String
        /// `nil` for what is referred to and isn't there.
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

    /// The place of a table's box among all boxes.
    func index(of table: String) -> Int? {
        nodes.firstIndex { $0.name.isSameName(as: table) }
    }
}

/// Text of a schema, made fit to be looked at.
enum DiagramText {
    /// A name as a diagram shows it: on one line, without what no font has a sign for, and never
    /// empty.
    static func shown(_ name: String) -> String {
        guard !name.isEmpty else { return "\"\"" }
        return String(String.UnicodeScalarView(name.unicodeScalars.map(shown)))
    }

    private static func shown(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        switch scalar.properties.generalCategory {
        case .control where scalar.properties.isWhitespace, .lineSeparator, .paragraphSeparator: " "
        // XML, which pictures are made of, has no place for them.
        case .control, .unassigned: "\u{FFFD}"
        default: scalar
        }
    }
}
