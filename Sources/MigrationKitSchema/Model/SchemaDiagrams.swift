import MigrationKitGRDB

// MARK: - Graphviz Diagram

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
            .escaping("&", as: "&amp;")
            .escaping("<", as: "&lt;")
            .escaping(">", as: "&gt;")
            .escaping("\"", as: "&quot;")
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
            .escaping("&", as: "&amp;")
            .escaping("\\", as: "\\\\")
            .escaping("\"", as: "\\\"")
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

// MARK: - Mermaid Diagram

/// A diagram of a schema in the language of Mermaid, which GitHub, GitLab and many editors show in
/// a Markdown file: tables with their columns, and a line for every reference.
///
/// If Mermaid doesn't allow a name, such as one with a space, the diagram uses a substitute and
/// shows the name as the table's title or the column's comment.
/// <https://mermaid.js.org/syntax/entityRelationshipDiagram.html>
public struct MermaidDiagram: Equatable, Sendable {
    /// The diagram. It ends with a line feed.
    public let text: String

    /// Draws a schema.
    ///
    /// - Parameter schema: The schema.
    public init(of schema: SchemaDescription) {
        let boxes = DiagramNodes(of: schema)
        let ids = boxes.nodes.enumerated().map { index, node in
            Self.isPlain(node.name) ? node.name : "_\(index + 1)"
        }
        var lines = ["erDiagram"]
        for (node, id) in zip(boxes.nodes, ids) {
            lines += Self.box(node, id: id)
        }
        for (node, id) in zip(boxes.nodes, ids) {
            guard let table = node.table else { continue }
            for reference in table.references {
                guard let target = boxes.index(of: reference.table) else { continue }
                let line = Self.line(for: reference, of: table)
                let label = Self.quoted(reference.columns.joined(separator: ", "))
                lines.append("    \(ids[target]) \(line) \(id) : \(label)")
            }
        }
        text = lines.joined(separator: "\n") + "\n"
    }

    // MARK: - Boxes

    private static func box(_ node: DiagramNodes.Node, id: String) -> [String] {
        let title = id == node.name ? id : "\(id)[\(quoted(node.name))]"
        let columns = node.table?.shownColumns ?? []
        guard let table = node.table, !columns.isEmpty else { return ["    \(title)"] }
        return ["    \(title) {"] + columns.map { "        \(attribute($0, of: table))" } + [
            "    }"
        ]
    }

    private static func attribute(
        _ column: SchemaDescription.Column,
        of table: SchemaDescription.Table
    ) -> String {
        let type = column.type.isEmpty ? "untyped" : word(column.type)
        let name = word(column.name)
        let marks = table.marks(of: column).joined(separator: ", ")
        let isShortened = name != column.name || !column.type.isEmpty && type != column.type
        let comment = [DiagramText.shown(column.name), column.type].filter { !$0.isEmpty }.joined(
            separator: ": "
        )
        return [type, name, marks, isShortened ? quoted(comment) : ""]
            .filter { !$0.isEmpty }.joined(separator: " ")
    }

    /// The table that refers is on the right, the one that it refers to on the left.
    private static func line(
        for reference: SchemaDescription.Reference,
        of table: SchemaDescription.Table
    ) -> String {
        (table.isRequired(reference) ? "||" : "|o") + "--"
            + (table.isUnique(reference) ? "o|" : "o{")
    }

    // MARK: - Text

    /// Words with a meaning for Mermaid at the place of a table's name.
    private static let reserved: Set<String> = [
        "accdescr", "acctitle", "class", "classdef", "default", "direction", "end", "erdiagram",
        "many", "one", "only", "optionally", "or", "style", "subgraph", "title", "to", "zero",
    ]

    /// Whether a table's name needs no substitute. Two underscores, or one at either end, may be
    /// taken for Markdown; a single letter, for a part of a line.
    private static func isPlain(_ name: String) -> Bool {
        name.wholeMatch(of: /[A-Za-z][A-Za-z0-9]+(_[A-Za-z0-9]+)*/) != nil
            && !reserved.contains(name.lowercased())
    }

    /// A column's name or type, with underscores instead of characters that aren't allowed.
    private static func word(_ text: String) -> String {
        let characters = text.unicodeScalars.map { scalar -> Character in
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", "_", "(", ")": Character(scalar)
            case "\u{C0}"..."\u{FFFF}" where scalar.properties.isAlphabetic: Character(scalar)
            default: "_"
            }
        }
        let word = String(characters)
        // A word begins with a letter. One of these alone is a mark, and underscores around a word
        // are Markdown.
        let isRefused =
            word.prefixMatch(of: /[0-9()_]|$/) != nil
            || word.prefixMatch(of: /(pk|fk|uk)\b/.ignoresCase()) != nil
        return isRefused ? "x_\(word)" : word
    }

    /// Text in quotes, with Mermaid's escapes for characters that mean something in Mermaid,
    /// Markdown or HTML. An underscore inside a word means nothing.
    /// <https://mermaid.js.org/syntax/flowchart.html#entity-codes-to-escape-characters>
    private static func quoted(_ text: String) -> String {
        let scalars = Array(DiagramText.shown(text).unicodeScalars)
        let escaped = scalars.indices.map { index in
            let scalar = scalars[index]
            switch scalar {
            case "_" where isLetter(scalars, index - 1) && isLetter(scalars, index + 1):
                return "_"
            case "\"", "#", "%", "&", ";", "<", ">", "\\", "`", "*", "_", "~", "[", "]", "{", "}":
                return "#\(scalar.value);"
            default:
                return String(Character(scalar))
            }
        }
        return "\"\(escaped.joined())\""
    }

    private static func isLetter(_ scalars: [Unicode.Scalar], _ index: Int) -> Bool {
        scalars.indices.contains(index)
            && (scalars[index].properties.isAlphabetic
                || scalars[index].properties.numericType != nil)
    }
}
