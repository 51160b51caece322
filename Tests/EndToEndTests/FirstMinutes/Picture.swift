/// A terminal with commands and what they print, as a picture in SVG.
struct Picture {
    private static let lineHeight = 20
    private static let letterWidth = 8.4
    private static let margin = 20

    private let lines: [Substring]
    private let columns: Int

    /// - Parameter console: Lines of a terminal: commands after `$ `, and their output.
    init(_ console: String) {
        lines = console.split(separator: "\n", omittingEmptySubsequences: false)
        columns = max(lines.map(\.count).max() ?? 0, 72)
    }

    /// The document. Each line has its width as text, so that another font than the viewer's first
    /// choice doesn't move the columns.
    ///
    /// - Parameter title: What a screen reader says.
    func svg(title: String) -> String {
        let width = Int(Double(columns) * Self.letterWidth) + 2 * Self.margin
        let height = lines.count * Self.lineHeight + 2 * Self.margin
        let texts = lines.enumerated().filter { !$1.isEmpty }.map { number, line in
            let top = Self.margin + number * Self.lineHeight + 14
            return "  " + text(of: line, top: top)
        }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 \(width) \(height)" width="\(width)" height="\(height)">
              <title>\(escaped(title))</title>
              <style>
                text { font: 14px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #c9d1d9; white-space: pre }
                .command { fill: #ffffff; font-weight: bold }
                .error { fill: #ff9b8e }
              </style>
              <rect width="\(width)" height="\(height)" rx="8" fill="#161b22"/>
            \(texts.joined(separator: "\n"))
            </svg>

            """
    }

    private func text(of line: Substring, top: Int) -> String {
        let kind =
            if line.hasPrefix("$ ") {
                " class=\"command\""
            } else if line.hasPrefix("error: ") {
                " class=\"error\""
            } else {
                ""
            }
        let length = Double(line.count) * Self.letterWidth
        return """
            <text\(kind) x="\(Self.margin)" y="\(top)" textLength="\(Int(length.rounded()))" \
            lengthAdjust="spacingAndGlyphs" xml:space="preserve">\(escaped(line))</text>
            """
    }

    private func escaped(_ text: some StringProtocol) -> String {
        String(text).replacing("&", with: "&amp;").replacing("<", with: "&lt;")
    }
}
