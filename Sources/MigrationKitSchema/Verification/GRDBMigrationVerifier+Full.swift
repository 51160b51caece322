import GRDB
import MigrationKitGRDB

extension GRDBMigrationVerifier {
    /// The tables that have a b-tree.
    static let tableNames = """
        SELECT name FROM main.sqlite_master WHERE type = 'table' AND rootpage > 0
        """

    /// Compares the indexes of some tables with their tables, one after the other.
    static func compareIndexes(of tables: [String], in db: Database) throws
        -> [IndexComparison.Outcome]
    {
        let comparisons = try IndexComparisons(tables, db)
        try comparisons.work(in: db)
        return comparisons.suspects
    }
}
