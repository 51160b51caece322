/// A line that GitHub Actions shows at a place in a file.
/// <https://docs.github.com/actions/reference/workflow-commands-for-github-actions>
struct GitHubAnnotation {
    enum Command: String {
        case error, warning, notice
    }

    let command: Command
    let file: String?
    var line: Int?
    var column: Int?
    let title: String
    /// Paragraphs. Names may have characters that control a terminal.
    let text: [String]

    /// The line that is printed.
    var printed: String {
        let properties: [(String, String?)] = [
            ("file", file), ("line", line.map(String.init)), ("col", column.map(String.init)),
            ("title", title),
        ]
        let list = properties.compactMap { name, value in
            value.map { "\(name)=\(Self.escaped($0.printable, also: [":", ","]))" }
        }.joined(separator: ",")
        // Line by line: a paragraph may have several.
        let lines = text.joined(separator: "\n").split(
            separator: "\n",
            omittingEmptySubsequences: false
        )
        .map { String($0).printable }
        return "::\(command.rawValue) \(list)::\(Self.escaped(lines.joined(separator: "\n")))"
    }

    /// As GitHub's own toolkit escapes:
    /// <https://github.com/actions/toolkit/blob/main/packages/core/src/command.ts>
    private static func escaped(_ text: String, also others: Set<Unicode.Scalar> = []) -> String {
        text.unicodeScalars.map { scalar in
            let isSpecial = scalar == "%" || scalar == "\r" || scalar == "\n"
            guard isSpecial || others.contains(scalar) else { return String(scalar) }
            let digits = String(scalar.value, radix: 16, uppercase: true)
            return "%" + (digits.count == 1 ? "0" : "") + digits
        }.joined()
    }
}
