/// A diagram of a schema in the language of Graphviz: tables with their columns, and an arrow for
/// every reference.
///
/// ```sh
/// $ dot -Tsvg schema.dot > schema.svg
/// ```
///
/// An arrow starts at the column that refers. Its ends show how many rows there are: a crow's foot
/// means many, a bar means one, a circle means that there may be none.
/// <https://graphviz.org/doc/info/shapes.html#html>
public struct GraphvizDiagram: Equatable, Sendable {
    /// The diagram. It ends with a line feed.
    public let text: String

    /// Draws a schema.
    ///
    /// - Parameter schema: The schema.
    public init(of schema: SchemaDescription) {
        let boxes = DiagramNodes(of: schema)
        var lines = [
            "digraph schema {",
            "    graph [rankdir=LR, nodesep=0.5, ranksep=1.2];",
            "    node [shape=plain, fontname=\"Helvetica\", fontsize=11];",
            "    edge [dir=both, fontname=\"Helvetica\", fontsize=10, color=\"#555555\"];",
        ]
        for (index, node) in boxes.nodes.enumerated() {
            lines += [""] + Self.box(node, id: Self.id(index))
        }
        lines.append("")
        for (index, node) in boxes.nodes.enumerated() {
            for reference in node.table?.references ?? [] {
                lines += Self.arrow(reference, from: node, id: Self.id(index), in: boxes)
            }
        }
        text = lines.joined(separator: "\n") + "\n}\n"
    }

    private static func id(_ index: Int) -> String { "t\(index + 1)" }

    // MARK: - Boxes

    private static func box(_ node: DiagramNodes.Node, id: String) -> [String] {
        let columns = node.table?.shownColumns ?? []
        let rows = columns.enumerated().map { index, column in
            let marks = node.table?.marks(of: column).joined(separator: " ") ?? ""
            let cells = [
                "<TD ALIGN=\"LEFT\" PORT=\"l\(index + 1)\">\(html(column.name))</TD>",
                "<TD ALIGN=\"LEFT\">\(column.type.isEmpty ? "" : html(column.type))</TD>",
                "<TD PORT=\"r\(index + 1)\">\(marks)</TD>",
            ]
            return "        <TR>\(cells.joined())</TR>"
        }
        let title = "<B>\(html(node.name))</B>" + (node.table == nil ? " (missing)" : "")
        return [
            "    \(id) [label=<",
            "        <TABLE BORDER=\"0\" CELLBORDER=\"1\" CELLSPACING=\"0\" CELLPADDING=\"4\">",
            "        <TR><TD COLSPAN=\"3\" PORT=\"title\" BGCOLOR=\"#dfe7f2\">\(title)</TD></TR>",
        ] + rows + ["        </TABLE>>];"]
    }

    private static func html(_ text: String) -> String {
        DiagramText.shown(text)
            .replacing("&", with: "&amp;")
            .replacing("<", with: "&lt;")
            .replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;")
    }

    // MARK: - Arrows

    private static func arrow(
        _ reference: SchemaDescription.Reference,
        from node: DiagramNodes.Node,
        id: String,
        in boxes: DiagramNodes
    ) -> [String] {
        guard let table = node.table, let target = boxes.index(of: reference.table) else {
            return []
        }
        // Arrows point to the right. An arrow to the same table returns on that side.
        let isLoop = Self.id(target) == id
        let start = port(.right, of: reference.columns.first, in: table)
        let end = port(
            isLoop ? .right : .left,
            of: reference.referencedColumns.first,
            in: boxes.nodes[target].table
        )
        var attributes = [
            "arrowtail=\(table.isUnique(reference) ? "teeodot" : "crowodot")",
            "arrowhead=\(table.isRequired(reference) ? "teetee" : "teeodot")",
        ]
        if reference.columns.count > 1 {
            attributes.append("label=\"\(quoted(reference.columns.joined(separator: ", ")))\"")
        }
        return [
            "    \(id):\(start) -> \(Self.id(target)):\(end) [\(attributes.joined(separator: ", "))];"
        ]
    }

    private enum Side: String {
        case left = "l"
        case right = "r"

        var compassPoint: String { self == .left ? "w" : "e" }
    }

    private static func port(
        _ side: Side,
        of column: String?,
        in table: SchemaDescription.Table?
    ) -> String {
        guard let column, let columns = table?.shownColumns,
            let index = columns.firstIndex(where: { $0.name.isSameName(as: column) })
        else { return "title:\(side.compassPoint)" }
        return "\(side.rawValue)\(index + 1):\(side.compassPoint)"
    }

    /// The content of a quoted string, in which a backslash begins an escape and an ampersand an
    /// entity.
    private static func quoted(_ text: String) -> String {
        DiagramText.shown(text)
            .replacing("&", with: "&amp;")
            .replacing("\\", with: "\\\\")
            .replacing("\"", with: "\\\"")
    }
}

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
