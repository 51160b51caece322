/// `0001_name.sql` without a marker: what applies the step. Nothing takes it back.
///
/// <https://docs.rs/sqlx/latest/sqlx/macro.migrate.html>
enum UpOnlyFormat {
    static func parts(of outline: SQLOutline) throws -> MigrationParts {
        try checkForOtherMarkers(outline)
        return MigrationParts(
            up: try .init(whole: outline),
            down: nil,
            usesTransaction: try !NoTransactionLine.isFirst(in: outline)
        )
    }

    /// A comment of nothing but `Down` or `+migrate Down`, with statements behind it, is a marker
    /// of a tool that we don't know. What takes the step back must not run as its end.
    static func checkForOtherMarkers(_ outline: SQLOutline) throws {
        let marker = /--\W*(\+\w+\s+)?(down|undo|rollback|revert)(\s+(migration|script))?\W*/
            .ignoresCase()
        guard let last = outline.statements.last else { return }
        for range in outline.lineComments where range.lowerBound < last.range.lowerBound {
            let comment = outline.file.text(in: range)
            guard comment.wholeMatch(of: marker) != nil else { continue }
            throw MigrationFolderError.misspeltMarker(
                comment.withoutControlCharacters,
                at: outline.file.place(at: range.lowerBound)
            )
        }
    }
}
