/// The names of a folder's files, if they aren't those of a known tool.
///
/// `V{number}.{name}.{direction}.sql` stands for `V0001.Initial_Schema.up.sql` and
/// `V0001.Initial_Schema.down.sql`. Without `{direction}`, a file has both parts with markers, or
/// applies the migration as a whole. The name without its ending is the migration's identifier.
public struct MigrationNamePattern: Equatable, Sendable {
    /// The pattern, as it was given.
    public let text: String

    /// Whether each part of a migration has its own file.
    let hasDirection: Bool

    let prefix: String
    let separator: String

    /// Reads a pattern.
    ///
    /// - Parameter text: Any text without a brace or a slash, `{number}`, some text that begins with
    ///   no digit, `{name}`, and at the end `.{direction}.sql` or `.sql`.
    /// - Returns: `nil` if it has another form.
    public init?(_ text: String) {
        let form =
            /([^{}\/0-9.][^{}\/]*)?\{number\}([^{}\/0-9][^{}\/]*)\{name\}(\.\{direction\})?\.sql/
        guard let match = text.wholeMatch(of: form),
            text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
        else { return nil }
        let prefix = String(match.1 ?? "")
        // The number would begin in the middle of digits.
        guard prefix.last?.isNumber != true else { return nil }
        self.text = text
        self.prefix = prefix
        separator = String(match.2)
        hasDirection = match.3 != nil
    }

    /// The form of a pattern, worded to follow "must be".
    package static let expected =
        "a pattern such as \"V{number}.{name}.{direction}.sql\": {number}, then {name}, and at the "
        + "end \".{direction}.sql\" or \".sql\""

    /// The number in an identifier, as it is written.
    func number(in identifier: some StringProtocol) -> String? {
        guard identifier.hasPrefix(prefix) else { return nil }
        let digits = identifier.dropFirst(prefix.count).prefix { ("0"..."9").contains($0) }
        return digits.isEmpty ? nil : String(digits)
    }

    /// The identifier of a new migration.
    func identifier(number: String, words: String) -> String {
        "\(prefix)\(number)\(separator)\(words)"
    }
}
