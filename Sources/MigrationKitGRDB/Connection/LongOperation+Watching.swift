import GRDB
import MigrationKit

extension LongOperation {
    /// Runs SQL that reports its progress, and can be interrupted, in the middle of a statement.
    ///
    /// - Parameters:
    ///   - count: How many instructions of SQLite's virtual machine are between two looks.
    ///   - atStatements: Whether there is a look at statements that change something, too. Only
    ///     every 16th look is one at the clock and the cancellation then, so that short statements
    ///     cost nothing more.
    ///   - events: What is reported about ten times a second. It is called on the thread of the
    ///     database.
    ///   - body: Runs the SQL.
    /// - Returns: What the body returns.
    /// - Throws: A `CancellationError` if the body was interrupted; what the body throws.
    package func watching<Value>(
        _ db: Database,
        every count: Int32,
        atStatements: Bool = false,
        reporting events: () -> [Event],
        _ body: () throws -> Value
    ) throws -> Value {
        guard isWatched else { return try body() }
        var looks = 0
        func look() -> Bool {
            looks &+= 1
            return atStatements && looks % 16 != 0 || continues(reporting: events)
        }
        do {
            return try db.withProgressHandler(every: count, atStatements: atStatements, look, body)
        } catch {
            // The interrupted statement's error doesn't say why it was interrupted.
            try checkCancellation()
            throw error
        }
    }
}
