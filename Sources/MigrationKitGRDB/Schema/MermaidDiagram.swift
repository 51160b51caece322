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
