import MigrationKit

/// `V1__name.sql`, which applies the step, and `U1__name.sql`, which rolls it back.
///
/// A version may have several numbers: `V1.2__name.sql`, `V1_2__name.sql`.
/// <https://documentation.red-gate.com/fd/versioned-migrations-273973333.html>; refinery has the
/// former: <https://docs.rs/refinery>.
struct FlywayFormat: FolderFormat {
    let phrase = "is named as in Flyway and refinery"
    let files = "V1__name.sql, and U1__name.sql to undo it, of Flyway and refinery"
    let example = "V1__name.sql and U1__name.sql"
    let wayOutOfTransaction: String? = nil

    func number(in identifier: String) -> String {
        String(identifier.dropFirst().prefix { ("0"..."9").contains($0) })
    }

    func identifier(number: String, words: String) -> String { "V\(number)__\(words)" }

    func files(for identifier: String, takesBack: Bool, sql: NewMigrationSQL)
        -> [(path: String, text: String)]
    {
        let up = ("\(identifier).sql", upComment(identifier) + text(of: sql.up))
        let undo = (
            "U\(identifier.dropFirst()).sql", downComment(identifier) + text(of: sql.down)
        )
        return takesBack ? [up, undo] : [up]
    }

    func fileName(_ name: String) -> MigrationFileName? {
        guard let first = name.utf8.first, [UInt8(ascii: "V"), UInt8(ascii: "U")].contains(first),
            let match = name.wholeMatch(of: FilePattern.flyway),
            let version = MigrationVersion(of: match.2, separators: "._")
        else { return nil }
        return MigrationFileName(
            path: name,
            format: .flyway,
            role: match.1 == "V" ? .up : .down,
            identifier: String(name.dropLast(".sql".count)),
            version: version
        )
    }

    func parts(up: SQLOutline, down: SQLOutline?, metadata: SQLFile?) throws -> MigrationParts {
        try UpOnlyFormat.checkForOtherMarkers(up)
        try [up, down].compactMap { $0?.file }.forEach(Self.checkForPlaceholders)
        return MigrationParts(
            up: try .init(whole: up),
            down: try down.map { try .init(whole: $0) },
            usesTransaction: true
        )
    }

    /// Flyway replaces `${name}` by a value of its configuration, in literals, too. Without the value,
    /// the text itself would get into the database. In a comment it changes nothing.
    /// <https://documentation.red-gate.com/fd/placeholders-275218552.html>
    private static func checkForPlaceholders(_ file: SQLFile) throws {
        let bytes = file.bytes
        let (start, end) = (Array("${".utf8), UInt8(ascii: "}"))
        func isStart(_ index: Int) -> Bool { bytes[index...].starts(with: start) }
        guard bytes.indices.contains(where: isStart) else { return }
        let pieces = SQLTokenizer(bytes).filter {
            $0.kind != .lineComment && $0.kind != .blockComment
        }
        for index in pieces.flatMap(\.range) where isStart(index) {
            let name = bytes[(index + start.count)...]
                .prefix { $0 != end && $0 != UInt8(ascii: "\n") }
            guard !name.isEmpty, name.endIndex < bytes.count, bytes[name.endIndex] == end else {
                continue
            }
            let text = String(decoding: name, as: UTF8.self)
            // What isn't a name may be a secret in a literal.
            let isName = text.allSatisfy { $0.isLetter || $0.isNumber || "_.:-".contains($0) }
            throw MigrationFolderError.placeholder(
                "${\(isName ? text : "…")}",
                at: file.place(at: index)
            )
        }
    }
}
