/// The patterns that each file of a folder is held against. A literal is parsed whenever it is
/// evaluated, which takes longer than to read a small file.
///
/// `Regex` isn't `Sendable`, since one may hold code of its own. These don't.
enum FilePattern {
    nonisolated(unsafe) static let version = /[0-9]+(\.[0-9]+)*/
    nonisolated(unsafe) static let flyway = /([VU])([0-9]+(?:[._][0-9]+)*)__.+\.(?:sql|SQL)/
    nonisolated(unsafe) static let pair = /([0-9]+_.*)\.(down|up)\..*/
    nonisolated(unsafe) static let noTransaction = /-- no-transaction(\s.*)?/
    nonisolated(unsafe) static let noTransactionSlip =
        /--\s*no[-_ ]?transactions?\s*/.ignoresCase()
    nonisolated(unsafe) static let strangeDown =
        /--\W*(\+\w+\s+)?(downs?|downgrade|undo|rollback|revert|reverse|backwards?|unapply)(\s+(migration|script|sql))?\W*/
        .ignoresCase()
}
