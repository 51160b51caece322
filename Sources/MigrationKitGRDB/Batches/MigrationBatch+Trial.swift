import GRDB
import MigrationKit

extension MigrationBatch {
    /// Runs the statement in batches of one row, each twice, as a run does: once over the whole table.
    ///
    /// - Parameters:
    ///   - step: The step's identifier.
    ///   - earlier: The step's statements before it.
    ///   - db: A database that nobody else uses, with foreign keys on.
    /// - Returns: How many rows it has changed.
    /// - Throws: `MigrationKitError.unusableBatch(_:reason:)`; `MigrationKitError.batchRepeats(_:)`; a
    ///   `DatabaseError`.
    package func runByRow(
        of step: String,
        after earlier: [MigrationBatch],
        in db: Database
    ) throws -> Int {
        let table = try BatchTable(self, of: step, in: db)
        for batch in earlier {
            try BatchTable(batch, of: step, in: db).check(before: table, in: db)
        }
        guard let last = try table.last(in: db) else { return 0 }
        var (key, changes) = ([DatabaseValue]?.none, 0)
        while let end = try table.end(after: key, upTo: last, rows: 1, in: db) {
            changes += try table.runTwice(after: key, through: end, in: db)
            key = end
        }
        return changes
    }
}
