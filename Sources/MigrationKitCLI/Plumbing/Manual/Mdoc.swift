/// Text in the language of manual pages. <https://man.openbsd.org/mdoc.7>
enum Mdoc {
    /// A paragraph, one line for each sentence. Indented lines are examples.
    static func paragraph(_ text: String) -> [String] {
        var lines: [String] = []
        var prose: [Substring] = []
        var example: [Substring] = []
        func endProse() {
            let sentences = prose.joined(separator: " ").replacing(/([.?!]) +/) { "\($0.1)\n" }
            if lines.last == ".Ed", !prose.isEmpty { lines.append(".Pp") }
            lines += sentences.split(separator: "\n").map(line)
            prose = []
        }
        func endExample() {
            guard !example.isEmpty else { return }
            lines += literalBlock(example.map { String($0.dropFirst(2)) })
            example = []
        }
        for line in text.split(separator: "\n") {
            if line.hasPrefix("  ") {
                endProse()
                example.append(line)
            } else {
                endExample()
                prose.append(line)
            }
        }
        endProse()
        endExample()
        return lines
    }

    /// Lines in which every character is literal.
    static func literalBlock(_ lines: [String]) -> [String] {
        [".Bd -literal -offset indent"] + lines.map(literal) + [".Ed"]
    }

    /// A line of text.
    static func line(_ text: some StringProtocol) -> String {
        let line = Substring(text).split(separator: " ").map(word).joined(separator: " ")
        // At the start of a line, these would begin a request.
        return line.hasPrefix(".") || line.hasPrefix("\\(aq") ? "\\&\(line)" : line
    }

    private static func literal(_ text: String) -> String {
        let line = escaped(text).replacing("-", with: "\\-")
        return line.hasPrefix(".") ? "\\&\(line)" : line
    }

    /// A word as the argument of a macro.
    static func argument(_ text: String) -> String {
        escaped(text).replacing("-", with: "\\-").replacing("\"", with: "\\(dq")
            .replacing(" ", with: "\\ ")
    }

    /// Escapes hyphens, so that a word or an option is not broken at them.
    private static func word(_ word: Substring) -> String {
        let escaped = escaped(String(word))
        let isCode =
            word.contains("--") || word.hasPrefix("'-") || word.hasPrefix("(-")
            || word.contains("_") || word.dropLast().contains(":")
        return isCode ? "\\%" + escaped.replacing("-", with: "\\-") : escaped
    }

    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.map { scalar in
            switch scalar {
            case "\\": "\\e"
            case "'": "\\(aq"
            case "`": "\\(ga"
            case "^": "\\(ha"
            case "~": "\\(ti"
            case _ where scalar.isASCII: String(Character(scalar))
            default: "\\[u\(hexadecimal(scalar))]"
            }
        }.joined()
    }

    private static func hexadecimal(_ scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
