/// The form of a message for people: a headline, and lines that help.
///
/// On a terminal, no line is longer than that, so that it doesn't break within a word. Elsewhere, the
/// headline is one line, for those who search a log, and the others have at most 80 columns.
struct MessageForm {
    /// Where nothing says how wide a line may be.
    static let standardWidth = 80

    /// Narrower lines can't be read.
    private static let leastWidth = 30

    /// The columns of the terminal; `nil` if there is none.
    var columns: Int?

    /// - Parameters:
    ///   - headline: The headline. Its own line feeds are kept.
    ///   - lines: Paragraphs and, indented, what is no prose.
    func text(_ headline: String, _ lines: [String] = []) -> String {
        let width = max(columns ?? Self.standardWidth, Self.leastWidth)
        let head = headline.split(separator: "\n", omittingEmptySubsequences: false)
            .flatMap { columns == nil ? [String($0)] : $0.wrapped(to: width, indent: 2) }
        let rest = lines.flatMap { $0[...].wrapped(to: width - 2) }
            .map { "  " + $0.printable }
        return (head + rest).joined(separator: "\n")
    }
}

extension Substring {
    /// Wraps a paragraph into lines. What is in quotes, such as a command, stays on one line, so that
    /// it can be copied. An indented line isn't prose, and isn't wrapped.
    ///
    /// - Parameter indent: How many spaces the lines after the first one get.
    func wrapped(to width: Int, indent: Int = 0) -> [String] {
        guard count > width, first != " " else { return [String(self)] }
        var lines: [String] = []
        for word in wholeWords {
            if let last = lines.last, last.count + 1 + word.count <= width {
                lines[lines.endIndex - 1] += " \(word)"
            } else {
                let space = lines.isEmpty ? "" : String(repeating: " ", count: indent)
                lines.append(space + word)
            }
        }
        return lines
    }

    /// The words, where what is in quotes is one.
    private var wholeWords: [String] {
        var words: [String] = []
        var rest = split(separator: " ")[...]
        while let word = rest.popFirst() {
            var whole = String(word)
            if let quote = word.openingQuote, let end = rest.firstIndex(where: { $0.closes(quote) })
            {
                whole += " " + rest[...end].joined(separator: " ")
                rest = rest[(end + 1)...]
            }
            words.append(whole)
        }
        return words
    }

    /// The quote with which a word begins, if the word doesn't end it. (An apostrophe isn't one.)
    private var openingQuote: Character? {
        guard let first = drop(while: { "([".contains($0) }).first, "'`\"".contains(first),
            count(where: { $0 == first }) == 1
        else { return nil }
        return first
    }

    /// Whether a quote ends in this word: only punctuation comes after it.
    private func closes(_ quote: Character) -> Bool {
        guard let last = lastIndex(of: quote) else { return false }
        return self[index(after: last)...].allSatisfy { $0.isPunctuation }
    }
}
