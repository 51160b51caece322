/// A statement that changes many rows, a batch of them at a time.
///
/// Each batch has a transaction of its own, so that others can write in between, and a log or journal
/// stays small. The database keeps how far it came: a run that was ended goes on from there.
///
/// ```swift
/// MigrationStep(
///     identifier: "0007_sizes",
///     batched: [MigrationBatch("UPDATE notes SET size = length(body) WHERE size IS NULL")]
/// )
/// ```
///
/// The statement is an `UPDATE`, a `DELETE`, or an `INSERT` with a `SELECT`. Its batches are ranges of
/// the key of the table that it changes, or that the `SELECT` reads first. Its condition must not hold
/// any more for a row that it has changed: it is repeated over the whole table until it changes nothing.
public struct MigrationBatch: Equatable, Sendable {
    /// The statement, without parameters.
    public let sql: String

    /// How many rows of the table a batch has at most; `nil` for as many as take some hundredths of a
    /// second.
    public let rows: Int?

    /// How long to wait between two batches at least, in seconds. While others write, a run waits by
    /// itself.
    public let pause: Double

    /// How large the write-ahead log may become, in bytes: at least ``leastLogLimit``. A run waits until
    /// readers let it begin anew.
    public let logLimit: Int

    /// Where it is; `nil` for one in Swift.
    package let place: SourcePlace?

    /// Creates a statement that is run in batches.
    ///
    /// - Parameters:
    ///   - sql: The statement, without parameters.
    ///   - rows: How many rows of the table a batch has at most, from 1; `nil` for as many as take some
    ///     hundredths of a second.
    ///   - pause: How long to wait between two batches at least, in seconds.
    ///   - logLimit: How large the write-ahead log may become, in bytes: at least ``leastLogLimit``.
    public init(
        _ sql: String,
        rows: Int? = nil,
        pause: Double = 0,
        logLimit: Int = defaultLogLimit
    ) {
        self.init(sql, rows: rows, pause: pause, logLimit: logLimit, at: nil)
    }

    package init(_ sql: String, rows: Int?, pause: Double, logLimit: Int, at place: SourcePlace?) {
        self.sql = sql
        self.rows = rows.map { max($0, 1) }
        self.pause = max(pause, 0)
        self.logLimit = max(logLimit, Self.leastLogLimit)
        self.place = place
    }

    /// 64 MiB.
    public static let defaultLogLimit = 64 << 20

    /// 8 MiB: SQLite empties the log when it has a thousand pages, of four KiB by default.
    /// <https://www.sqlite.org/pragma.html#pragma_wal_autocheckpoint>
    public static let leastLogLimit = 8 << 20

    /// A statement that gives a column a value where it is NULL.
    ///
    /// - Parameters:
    ///   - column: The name of the column.
    ///   - table: The name of its table.
    ///   - expression: An SQL expression over the row. Rows for which it is NULL keep NULL.
    public static func backfill(
        _ column: String,
        of table: String,
        with expression: String
    ) -> MigrationBatch {
        let column = column.quotedName
        return MigrationBatch(
            """
            UPDATE \(table.quotedName) SET \(column) = (\(expression))
            WHERE \(column) IS NULL AND (\(expression)) IS NOT NULL
            """
        )
    }
}

extension MigrationBatch: Encodable {
    private enum CodingKeys: CodingKey {
        case sql, rows, pause, logLimit
    }
}
