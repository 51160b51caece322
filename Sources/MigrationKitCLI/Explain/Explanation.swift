/// What a message of SQLite's, SQLCipher's or the system's means: a heading of the page on errors.
struct Explanation: Sendable {
    /// The message as people paste it.
    let message: String

    /// Other messages that mean the same, or the part of them that is always there.
    var alike: [String] = []

    /// SQLite's numbers and names for it. <https://www.sqlite.org/rescode.html>
    var results: [(code: Int32, name: String)] = []

    /// The codes of this tool's errors that are about it.
    var codes: [String] = []

    /// What it says, in prose.
    let meaning: String

    /// What usually leads to it, the most frequent first.
    let causes: [String]

    /// What to do next.
    let next: [Action]

    /// Where the documentation says more, such as `Keys.md#losing-a-key`.
    var pages: [String] = []

    /// Something to do: a command, or words.
    struct Action: Encodable, Sendable {
        /// Without the program's name; `nil` if nothing is to be run.
        var command: String?

        /// What it is good for, or what to do.
        let purpose: String

        init(_ command: String, _ purpose: String) {
            self.command = command
            self.purpose = purpose
        }

        init(_ purpose: String) {
            self.purpose = purpose
        }
    }

    /// The messages, spelled for a comparison.
    private var needles: [String] { ([message] + alike).map(Self.spelling) }

    /// The texts without case, quotes and repeated spaces.
    private static func spelling(_ text: String) -> String {
        text.lowercased().split { "\"'`‘’“”«»".contains($0) || $0.isWhitespace }
            .joined(separator: " ")
    }

    /// The explanation of what somebody has pasted, with other text around it perhaps.
    static func of(message: String) -> Explanation? {
        let pasted = spelling(message)
        guard !pasted.isEmpty else { return nil }
        // A longer message says more: "no such table" is in many.
        let found = all.flatMap { one in one.needles.map { ($0, one) } }
            .filter { pasted.has($0.0) }
            .max { $0.0.count < $1.0.count }
        if let found { return found.1 }
        // Or a part of one was pasted.
        guard pasted.count >= 8 else { return nil }
        return all.first { $0.needles.contains { $0.contains(pasted) } }
    }

    /// The explanation of SQLite's number or name, such as `26`, `SQLITE_NOTADB` or, extended,
    /// `1806`.
    static func of(result: String) -> Explanation? {
        let name = result.uppercased()
        if let number = Int32(result) {
            return all.first { $0.results.contains { $0.code == number } }
                ?? (number > 255 ? of(result: "\(number & 0xff)") : nil)
        }
        return all.first { $0.results.contains { $0.name == name } }
            ?? all.first { $0.results.contains { name.hasPrefix($0.name + "_") } }
    }

    /// The explanation of what this tool's code is about.
    static func of(code: String) -> Explanation? {
        all.first { $0.codes.contains(code) }
    }
}

extension String {
    /// Whether it contains the text, and a number at its end isn't the beginning of a longer one.
    fileprivate func has(_ text: String) -> Bool {
        ranges(of: text).contains { range in
            !(text.last?.isNumber == true && self[range.upperBound...].first?.isNumber == true)
        }
    }
}
