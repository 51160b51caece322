/// `0001_name.up.sql` and `0001_name.down.sql`, one part each.
///
/// <https://github.com/golang-migrate/migrate/blob/master/MIGRATIONS.md>; sqlx has them too.
struct PairFormat: FolderFormat {
    let phrase = "is one of a pair"
    let files = "0001_name.up.sql and 0001_name.down.sql, of golang-migrate and sqlx"
    let example = "0001_name.up.sql and 0001_name.down.sql"
    let wayOutOfTransaction: String? = NoTransactionLine.phrase

    func template(for identifier: String, takesBack: Bool) -> [(path: String, text: String)] {
        [
            ("\(identifier).up.sql", upComment(identifier)),
            ("\(identifier).down.sql", downComment(identifier)),
        ]
    }

    func fileName(_ name: String) -> MigrationFileName? {
        let lowercased = name.lowercased()
        let endings: [(String, MigrationFileName.Role)] = [(".up.sql", .up), (".down.sql", .down)]
        guard let (ending, role) = endings.first(where: { lowercased.hasSuffix($0.0) }),
            let version = MigrationFileName.number(of: name)
        else { return nil }
        return MigrationFileName(
            path: name,
            format: .pairs,
            role: role,
            identifier: String(name.dropLast(ending.count)),
            version: version
        )
    }

    func parts(up: SQLOutline, down: SQLOutline?, metadata: SQLFile?) throws -> MigrationParts {
        let outside = try [up, down].compactMap { $0 }.map(NoTransactionLine.isFirst)
        return MigrationParts(
            up: try .init(whole: up),
            down: try down.map { try .init(whole: $0) },
            usesTransaction: !outside.contains(true)
        )
    }
}

/// sqlx's `-- no-transaction` on the first line of a file.
///
/// <https://docs.rs/sqlx/latest/sqlx/macro.migrate.html>
enum NoTransactionLine {
    static let phrase = "has as its first line: -- no-transaction"

    /// Whether the line is there.
    ///
    /// - Throws: ``MigrationFolderError/misplacedNoTransaction(at:)`` if it is on another line, or
    ///   misspelled.
    static func isFirst(in outline: SQLOutline) throws -> Bool {
        let isFirst: (Range<Int>) -> Bool = { range in
            range.lowerBound == 0
                && outline.file.text(in: range).wholeMatch(of: /-- no-transaction(\s.*)?/) != nil
        }
        let slip = /--\s*no[-_ ]?transactions?\s*/.ignoresCase()
        for range in outline.lineComments where !isFirst(range) {
            let comment = outline.file.text(in: range)
            guard comment.lowercased().contains("transaction") else { continue }
            guard comment.wholeMatch(of: slip) == nil else {
                throw MigrationFolderError.misplacedNoTransaction(
                    at: outline.file.place(at: range.lowerBound)
                )
            }
        }
        return outline.lineComments.first.map(isFirst) ?? false
    }
}
