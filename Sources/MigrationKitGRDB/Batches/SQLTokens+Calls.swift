import MigrationKit

extension Sequence<SQLTokens.Token> {
    /// The functions that are called, folded.
    var calls: Set<String> {
        let tokens = Array(self)
        return Set(
            tokens.indices.dropLast().filter { place in
                tokens[place].isName && tokens[place + 1].text == "("
                    && !(place > 0 && tokens[place - 1].isWord("INTO"))
            }.map { tokens[$0].name }
        )
    }

    /// What depends on rows that were changed before, such as `changes()`.
    var counter: String? {
        let names = calls.intersection(["changes", "total_changes", "last_insert_rowid"])
        if let name = names.sorted().first { return "\(name)()" }
        return contains { $0.isName && $0.name == "sqlite_sequence" } ? "sqlite_sequence" : nil
    }

    /// What has one value in a statement, and another one each time that it runs: the time, and a random
    /// number in a subquery. <https://www.sqlite.org/lang_datefunc.html>
    var momentary: String? {
        let tokens = Array(self)
        let times = ["date", "time", "datetime", "julianday", "unixepoch", "strftime", "timediff"]
        for (place, token) in tokens.enumerated() {
            if let word = token.keyword,
                ["CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME"].contains(word)
            {
                return word
            }
            guard token.isName, place + 1 < tokens.count, tokens[place + 1].text == "(" else {
                continue
            }
            if ["random", "randomblob"].contains(token.name),
                tokens[..<place].contains(where: {
                    $0.depth > 0 && $0.isWord("SELECT") && $0.depth <= token.depth
                })
            {
                return "\(token.name)() in a subquery"
            }
            guard times.contains(token.name) else { continue }
            let arguments = tokens[(place + 2)...].prefix { $0.depth > token.depth }
            let texts = arguments.filter { $0.kind == .string || $0.kind == .quotedName }.map(
                \.name
            )
            let parts = arguments.split { $0.depth == token.depth + 1 && $0.text == "," }
            let least = token.name == "strftime" ? 2 : 1
            let isShort =
                parts.count < least
                || parts[least - 1].first.map {
                    $0.kind == .string && ["subsec", "subsecond"].contains($0.name)
                } ?? true
            if texts.contains("now") || isShort { return "\(token.name)('now')" }
        }
        return nil
    }
}
