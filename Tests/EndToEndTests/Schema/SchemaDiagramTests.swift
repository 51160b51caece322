import Foundation
import TestSupport
import Testing

/// The diagrams, drawn by the programs that they are for.
@Suite struct SchemaDiagramTests {
    let tool: Tool

    init() throws {
        tool = try Tool()
    }

    private func dump(_ format: String, of folder: String) throws -> String {
        let result = try tool.run("schema-dump", "--format", format, "--migrations", folder)
        #expect(result.status == 0, "\(result)")
        return result.stdout
    }

    private func odd(_ format: String) throws -> String {
        try tool.write("0001_odd", up: OddSchema.sql)
        return try dump(format, of: tool.migrations)
    }

    // MARK: - Graphviz

    /// The texts and the number of the arrows in a picture that Graphviz has drawn without a word.
    private func draw(_ dot: String) throws -> (texts: [String], arrows: Int) {
        let drawn = try run("dot", ["-Tsvg"], input: dot.utf8)
        #expect(drawn.status == 0)
        #expect(drawn.stderr.isEmpty, "\(drawn.stderr)")
        let svg = drawn.stdout
        return (
            svg.matches(of: /<text [^>]*>([^<]*)<\/text>/).map { Self.decoded(String($0.1)) },
            svg.matches(of: /<g id="edge\d+" class="edge">/).count
        )
    }

    private static func decoded(_ text: String) -> String {
        text.replacing(/&#(\d+);/) { match in
            Int(match.1).flatMap(Unicode.Scalar.init).map { String(Character($0)) } ?? ""
        }
        .replacing("&#45;", with: "-").replacing("&quot;", with: "\"")
        .replacing("&lt;", with: "<").replacing("&gt;", with: ">").replacing("&amp;", with: "&")
        .replacing("\u{A0}", with: " ")
    }

    @Test func graphvizDrawsTheExample() throws {
        let (texts, arrows) = try draw(dump("dot", of: PackageFolder.notesMigrations))
        #expect(arrows == 8)
        for name in ["notes", "folders", "attachments", "note_tags", "tags", "note_search"] {
            #expect(texts.contains(name))
        }
        #expect(texts.contains("parent_id"))
        // FTS5's own tables and ours are nobody's concern.
        #expect(!texts.contains { $0.hasPrefix("note_search_") && $0 != "note_search_keys" })
        #expect(!texts.contains { $0.hasPrefix("grdb_") || $0.hasPrefix("sqlite_") })
    }

    @Test func graphvizShowsEveryOddName() throws {
        let (texts, arrows) = try draw(odd("dot"))
        for name in OddSchema.tables + OddSchema.columns + ["VARCHAR(20, 3)", "x, y"] {
            #expect(texts.contains(name), "\(name)")
        }
        #expect(arrows == 8)
    }

    // MARK: - Mermaid

    /// The texts of a picture that Mermaid itself has drawn, in a JavaScript engine without a
    /// browser.
    private func drawWithMermaid(_ text: String) throws -> [String] {
        let program = """
            import html, json, re, sys
            import mermaidx
            svg = mermaidx.render(json.load(sys.stdin)[0]).svg()
            assert "Syntax error" not in svg
            # A name is no Markdown.
            assert "<em>" not in svg and "<strong>" not in svg and "<b>" not in svg
            texts = re.findall(r'<span class="(?:node|edge)Label[^>]*>(.*?)</span>', svg, re.S)
            print(json.dumps([html.unescape(re.sub("<[^>]*>", "", text)) for text in texts]))
            """
        let output = try Python.output(of: program, input: [text])
        let texts = try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String]
        return try #require(texts).map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
    }

    @Test func mermaidDrawsTheExample() throws {
        let texts = try drawWithMermaid(dump("mermaid", of: PackageFolder.notesMigrations))
        for name in ["notes", "folders", "note_tags", "note_search", "parent_id", "PK,FK"] {
            #expect(texts.contains(name), "\(name)")
        }
        #expect(texts.count { $0 == "note_id" } == 10)
        #expect(!texts.contains { $0.hasPrefix("grdb_") || $0.hasPrefix("sqlite_") })
    }

    @Test func mermaidShowsEveryOddName() throws {
        let texts = try drawWithMermaid(odd("mermaid"))
        for name in OddSchema.tables {
            #expect(texts.contains(name), "\(name)")
        }
        for name in OddSchema.columns {
            #expect(
                texts.contains("\(name)") || texts.contains { $0.hasPrefix("\(name): ") },
                "\(name)"
            )
        }
    }

    @Test func aSchemaWithoutTablesIsAnEmptyDiagram() throws {
        try tool.write("0001_view", up: "CREATE VIEW one AS SELECT 1;")
        let text = try dump("mermaid", of: tool.migrations)
        #expect(text == "erDiagram\n")
        #expect(try draw(dump("dot", of: tool.migrations)).texts.isEmpty)
    }
}
