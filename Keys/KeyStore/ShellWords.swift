/// Splits a command into words like a POSIX shell, including quotes and backslashes.
///
/// Nothing is expanded: no variables, no wildcards, no `~`, no pipes. Such characters are passed on
/// unchanged (Shell Command Language, 2.2 Quoting,
/// https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_02).
enum ShellWords {
    /// Why a command can't be split.
    enum Problem: Error, Equatable {
        case unbalancedQuote(Character)
        case nothingAfterBackslash
    }

    static func split(_ command: String) throws -> [String] {
        var words: [String] = []
        // Nil between words, so that `''` counts as an empty word.
        var word: String?
        var rest = Substring(command)

        while let character = rest.popFirst() {
            switch character {
            case " ", "\t", "\n", "\r\n":
                if let finished = word { words.append(finished) }
                word = nil
            case "'":
                guard let end = rest.firstIndex(of: "'") else {
                    throw Problem.unbalancedQuote("'")
                }
                word = (word ?? "") + rest[..<end]
                rest = rest[rest.index(after: end)...]
            case "\"":
                word = try (word ?? "") + quoted(&rest)
            case "\\":
                guard let next = rest.popFirst() else { throw Problem.nothingAfterBackslash }
                if next != "\n" { word = (word ?? "") + String(next) }
            default:
                word = (word ?? "") + String(character)
            }
        }
        if let word { words.append(word) }
        return words
    }

    /// The rest of the double-quoted part of a word, in which a backslash is special only before
    /// `$`, `` ` ``, `"`, `\` and a newline.
    private static func quoted(_ rest: inout Substring) throws -> String {
        var text = ""
        while let character = rest.popFirst() {
            switch character {
            case "\"":
                return text
            case "\\":
                guard let next = rest.popFirst() else { throw Problem.unbalancedQuote("\"") }
                switch next {
                case "$", "`", "\"", "\\": text.append(next)
                case "\n": break
                default: text += "\\" + String(next)
                }
            default:
                text.append(character)
            }
        }
        throw Problem.unbalancedQuote("\"")
    }
}
