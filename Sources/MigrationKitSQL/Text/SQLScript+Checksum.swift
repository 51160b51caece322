import MigrationKit

extension SQLScript {
    /// Changes whenever the SQL does, and not with its comments, its white space or the semicolon
    /// behind its last statement.
    ///
    /// It is the SHA-256 of the tokens, in hexadecimal digits. What it is made of can't change any
    /// more: databases remember it. The name in front leaves room for another one.
    ///
    /// - Returns: `nil` if there is no memory left for it.
    var checksum: String? {
        var bytes: [UInt8] = []
        for range in ranges {
            /// Behind the last token that is no semicolon.
            var end = bytes.count
            for token in SQLTokenizer(file.bytes, in: range)
            where ![.space, .lineComment, .blockComment].contains(token.kind) {
                bytes += file.bytes[token.range]
                // No token has a NUL in it, so that what stands apart stays apart.
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

    /// The SQL, as it stands in the file.
    var text: String {
        ranges.map { file.text(in: $0).trimmingBlankLines() }.joined(separator: "\n\n")
    }
}

extension String {
    /// Without the lines at the beginning that have nothing in them, and without the space at the
    /// end.
    fileprivate func trimmingBlankLines() -> String {
        var lines = split(separator: "\n", omittingEmptySubsequences: false)[...]
        while lines.first?.allSatisfy(\.isWhitespace) == true { lines.removeFirst() }
        while lines.last?.allSatisfy(\.isWhitespace) == true { lines.removeLast() }
        return lines.joined(separator: "\n")
    }
}
