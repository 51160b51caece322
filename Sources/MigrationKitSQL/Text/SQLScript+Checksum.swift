import MigrationKit

extension SQLScript {
    /// Changes whenever the SQL does, but not if only comments, white space or the semicolon after
    /// the last statement change.
    ///
    /// It is the SHA-256 of the tokens, in hexadecimal digits. The algorithm can't change any more,
    /// since databases store the result. The prefix with its name leaves room for another
    /// algorithm.
    ///
    /// - Returns: `nil` if there is no memory.
    var checksum: String? {
        var bytes: [UInt8] = []
        for range in ranges {
            /// The end of the last token that isn't a semicolon.
            var end = bytes.count
            for token in SQLTokenizer(file.bytes, in: range)
            where ![.space, .lineComment, .blockComment].contains(token.kind) {
                bytes += file.bytes[token.range]
                // No token contains a NUL, so this separates them.
                bytes.append(0)
                if token.kind != .semicolon { end = bytes.count }
            }
            bytes.removeSubrange(end...)
        }
        guard let digest = Digest.sha256(bytes) else { return nil }
        let digits = Array("0123456789abcdef".utf8)
        var text = Array("sha256:".utf8)
        for byte in digest {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The SQL as written in the file.
    var text: String {
        ranges.map { file.text(in: $0).trimmingBlankLines() }.joined(separator: "\n\n")
    }
}

extension String {
    /// The text without empty lines at the beginning, and without white space at the end.
    fileprivate func trimmingBlankLines() -> String {
        var lines = split(separator: "\n", omittingEmptySubsequences: false)[...]
        while lines.first?.allSatisfy(\.isWhitespace) == true { lines.removeFirst() }
        while lines.last?.allSatisfy(\.isWhitespace) == true { lines.removeLast() }
        return lines.joined(separator: "\n")
    }
}
