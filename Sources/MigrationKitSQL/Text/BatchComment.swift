import MigrationKit

/// The comment above a statement that a run carries out a batch of rows at a time:
///
/// ```sql
/// -- migrate:batch rows=5000 pause=20ms log=32MB
/// UPDATE notes SET size = length(body) WHERE size IS NULL;
/// ```
///
/// All three options may be left out. For other tools it is a comment: they run the statement as a whole,
/// with the same result.
struct BatchComment {
    static let marker = "migrate:batch"

    private let range: Range<Int>
    private var rows: Int?
    private var pause = 0.0
    private var logLimit = MigrationBatch.defaultLogLimit

    /// The batches of the part that applies a migration.
    ///
    /// - Parameters:
    ///   - outline: The file.
    ///   - statements: Those of the part.
    ///   - isOutside: Whether a place belongs to another part.
    /// - Returns: None if it has no such comment.
    /// - Throws: ``MigrationFolderError/unreadableBatch(at:)``,
    ///   ``MigrationFolderError/besideBatch(at:)`` or ``MigrationFolderError/notForBatches(reason:at:)``.
    static func batches(
        in outline: SQLOutline,
        of statements: [SQLOutline.Statement],
        isOutside: (Int) -> Bool
    ) throws -> [MigrationBatch] {
        let file = outline.file
        let comments = try outline.comments(marker).map { try BatchComment($0, $1, in: file) }
        guard let first = comments.first else { return [] }
        let stray = comments.first { isOutside($0.range.lowerBound) }
        if let stray { throw stray.unreadable(in: file) }
        var left = comments[...]
        let batches = try statements.map { statement in
            let place = file.place(at: statement.range.lowerBound)
            let above = left.prefix { $0.range.upperBound <= statement.range.lowerBound }
            left = left.dropFirst(above.count)
            guard let comment = above.first else {
                throw MigrationFolderError.besideBatch(at: place)
            }
            if above.count > 1 { throw comment.unreadable(in: file) }
            let sql = file.sql(of: statement)
            do throws(BatchStatement.Obstacle) {
                _ = try BatchStatement(sql)
            } catch {
                throw MigrationFolderError.notForBatches(reason: error.reason, at: place)
            }
            return MigrationBatch(
                sql,
                rows: comment.rows,
                pause: comment.pause,
                logLimit: comment.logLimit,
                at: place.source
            )
        }
        if let last = left.first { throw last.unreadable(in: file) }
        if batches.isEmpty { throw first.unreadable(in: file) }
        return batches
    }

    private init(_ range: Range<Int>, _ options: Substring, in file: SQLFile) throws {
        self.range = range
        var names: Set<Substring> = []
        for word in options.split(whereSeparator: \.isWhitespace) {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, names.insert(parts[0]).inserted,
                set(parts[0], to: parts[1])
            else { throw unreadable(in: file) }
        }
    }

    /// - Returns: Whether there is such an option, and the value can be read.
    private mutating func set(_ name: Substring, to value: Substring) -> Bool {
        let digits = value.prefix { "0123456789.".contains($0) }
        let unit = value.dropFirst(digits.count)
        guard let number = Double(digits) else { return false }
        switch name {
        case "rows":
            guard unit.isEmpty, let count = Int(digits), count > 0 else { return false }
            rows = count
        case "pause":
            guard let seconds = ["ms": 0.001, "s": 1][unit], number * seconds <= 3600 else {
                return false
            }
            pause = number * seconds
        case "log":
            guard let bytes = ["KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30][unit],
                (Double(MigrationBatch.leastLogLimit)...0x1p40).contains(number * Double(bytes))
            else { return false }
            logLimit = Int(number * Double(bytes))
        default: return false
        }
        return true
    }

    private func unreadable(in file: SQLFile) -> MigrationFolderError {
        .unreadableBatch(at: file.place(at: range.lowerBound))
    }
}
