/// `0001_name.up.sql` and `0001_name.down.sql`, each one part as a whole.
///
/// <https://github.com/golang-migrate/migrate/blob/master/MIGRATIONS.md>; sqlx has them too.
enum PairFormat {
    static func name(_ name: String) -> MigrationFileName? {
        let lowercased = name.lowercased()
        let endings: [(String, MigrationFileName.Role)] = [(".up.sql", .up), (".down.sql", .down)]
        guard let (ending, role) = endings.first(where: { lowercased.hasSuffix($0.0) }),
            let version = MigrationFileName.number(of: name)
        else { return nil }
        return MigrationFileName(
            path: name,
            layout: .pair,
            role: role,
            identifier: String(name.dropLast(ending.count)),
            version: version
        )
    }

    static func parts(up: SQLOutline, down: SQLOutline?) throws -> MigrationParts {
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
    /// Whether it is there.
    ///
    /// - Throws: ``MigrationFolderError/misplacedNoTransaction(at:)`` if it is elsewhere, or misspelt.
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
