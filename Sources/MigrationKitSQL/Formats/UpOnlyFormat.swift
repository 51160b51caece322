/// `0001_name.sql` without a marker: it applies the step. The step can't be rolled back.
///
/// <https://docs.rs/sqlx/latest/sqlx/macro.migrate.html>
struct UpOnlyFormat: FolderFormat {
    let phrase = "has no marker"
    let files = "0001_name.sql without a marker, of sqlx: no rollback"
    let example = "0001_name.sql, without a rollback"
    let wayOutOfTransaction: String? = NoTransactionLine.phrase

    func template(for identifier: String, takesBack: Bool) -> [(path: String, text: String)] {
        [("\(identifier).sql", upComment(identifier))]
    }

    func parts(up outline: SQLOutline, down: SQLOutline?, metadata: SQLFile?) throws
        -> MigrationParts
    {
        try Self.checkForOtherMarkers(outline)
        return MigrationParts(
            up: try .init(whole: outline),
            down: nil,
            usesTransaction: try !NoTransactionLine.isFirst(in: outline)
        )
    }

    /// A comment that is only `Down` or `+migrate Down`, followed by statements, is a marker of an
    /// unknown tool. The SQL of the rollback must not run at the end of the step.
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
