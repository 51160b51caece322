import TOMLKit

/// The text of a settings file: TOML. Its parser gives line numbers only for errors.
struct SettingsText {
    private let lines: [Substring]

    init(_ text: String) {
        lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
    }

    /// The settings, each with its line, in the order of the lines.
    ///
    /// - Parameter path: The file's path, for errors.
    /// - Throws: ``SettingsFileError/malformed(place:reason:)``.
    func settings(
        path: String
    ) throws -> [(name: String, value: any TOMLValueConvertible, line: Int)] {
        do {
            return try TOMLTable(string: lines.joined(separator: "\n"))
                .map { ($0.0, $0.1, line(of: $0.0)) }
                .sorted { $0.2 < $1.2 }
        } catch let error as TOMLParseError {
            let place = error.source.begin
            throw SettingsFileError.malformed(
                place: "\(path):\(place.line):\(place.column)",
                reason: Self.reason(error)
            )
        }
    }

    /// The first line with a secret, even if the parser would not reach it or accept it.
    var secret: (key: String, line: Int)? {
        for (index, line) in lines.enumerated() {
            guard let name = Self.nameOfValue(in: line) else { continue }
            let words = name.split(separator: ".").map(String.init)
            guard let word = words.first(where: Self.isSecret) else { continue }
            return (word, index + 1)
        }
        return nil
    }

    /// The name at the start of a line, bare or in quotes, if a value follows it. The equals sign
    /// may be missing, or a colon may be used instead.
    private static func nameOfValue(in line: Substring) -> Substring? {
        var rest = line.drop { $0.isWhitespace }
        let quote = rest.first.flatMap { "\"'".contains($0) ? $0 : nil }
        if quote != nil { rest.removeFirst() }
        let name = rest.prefix { $0.isLetter || $0.isNumber || "_-.".contains($0) }
        rest.removeFirst(name.count)
        if let quote {
            guard rest.first == quote else { return nil }
            rest.removeFirst()
        }
        guard let sign = rest.first(where: { !$0.isWhitespace }) else { return nil }
        let isValue = "=:\"'".contains(sign) || sign.isLetter || sign.isNumber
        return name.isEmpty || !isValue ? nil : name
    }

    /// Whether an unknown setting with this name would contain a secret.
    static func isSecret(_ name: String) -> Bool {
        let name = name.lowercased().replacing("_", with: "-")
        guard name != "password-file", name != "password-command" else { return false }
        return ["key", "raw-key", "passwd", "pass", "pwd", "pin", "token"].contains(name)
            || ["password", "passphrase", "secret"].contains { name.contains($0) }
    }

    // MARK: -

    /// The line in which a setting begins; the last line if it can't be found.
    private func line(of name: String) -> Int {
        for (index, line) in lines.enumerated() {
            let start = line.drop { $0 == " " || $0 == "\t" || $0 == "[" }
            for form in [name, "\"\(name)\"", "'\(name)'"] where start.hasPrefix(form) {
                let rest = start.dropFirst(form.count).drop { $0 == " " || $0 == "\t" }
                guard let sign = rest.first, "=.]".contains(sign) else { continue }
                // In the middle of a string or an array, the lines so far aren't valid TOML.
                let before = lines[..<index].joined(separator: "\n")
                if (try? TOMLTable(string: before)) != nil { return index + 1 }
            }
        }
        return lines.count
    }

    /// The parser's message, without quoted values.
    private static func reason(_ error: TOMLParseError) -> String {
        let text = error.description
            .replacing("Error while parsing ", with: "")
            .replacing(/'[0-9_+\-.]{2,}'/, with: "the number")
        return "this is not TOML: \(text)"
    }
}
