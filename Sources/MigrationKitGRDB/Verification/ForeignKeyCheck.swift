import Dispatch
import GRDB
import GRDBSQLite
import MigrationKit
import MigrationKitCommon

/// Checks foreign keys after a step, as the step asks for it.
enum ForeignKeyCheck {
    private static let listed = 10

    /// - Parameter earlier: What may remain, since it was there before the run.
    /// - Throws: A `DatabaseError` of the kind `SQLITE_CONSTRAINT_FOREIGNKEY` that names the tables,
    ///   the constraint and some of the rows, but none of their values.
    static func run(
        after step: MigrationStep<Database>,
        allowing earlier: ForeignKeyViolations? = nil,
        in db: Database
    ) throws {
        switch step.foreignKeyChecks {
        case .off: return
        case .immediate where try db.enforcesForeignKeys && !db.hasOpenForeignKeys: return
        case .immediate, .deferred: break
        }
        if let earlier, try ForeignKeyViolations(db).areAmong(earlier) { return }
        let violations = try db.foreignKeyViolations()
        guard let first = try violations.next() else { return }
        var rowIDs = [first.originRowID]
        var (count, isOnly) = (1, true)
        while let next = try violations.next() {
            // SQLite reports one constraint after the other.
            guard next.originTable == first.originTable, next.foreignKeyId == first.foreignKeyId
            else {
                isOnly = false
                break
            }
            count += 1
            if rowIDs.count < listed { rowIDs.append(next.originRowID) }
        }
        throw DatabaseError(
            resultCode: .SQLITE_CONSTRAINT_FOREIGNKEY,
            message: """
                FOREIGN KEY constraint violation - \(constraint(of: first, db)), \
                in \(rows(rowIDs, of: count))\
                \(isOnly ? "" : "; other constraints are violated, too")\
                \(step.sourceFile.isEmpty ? "" : " (\(step.sourceFile))")
                """
        )
    }

    private static func constraint(of violation: ForeignKeyViolation, _ db: Database) -> String {
        let key = try? db.foreignKeys(on: violation.originTable)
            .first { $0.id == violation.foreignKeyId }
        func columns(_ names: [String]?) -> String {
            names.map { "(\($0.joined(separator: ", ")))" } ?? ""
        }
        return """
            from \(violation.originTable)\(columns(key?.originColumns)) \
            to \(violation.destinationTable)\(columns(key?.destinationColumns))
            """
    }

    private static func rows(_ rowIDs: [Int64?], of count: Int) -> String {
        let rows = count == 1 ? "1 row" : "\(count) rows"
        // The rows of a table WITHOUT ROWID have no rowid.
        let numbers = rowIDs.compactMap { $0 }
        guard !numbers.isEmpty else { return rows }
        let list = numbers.map(String.init).joined(separator: ", ")
        return "\(rows): rowid \(list)\(numbers.count < count ? " and more" : "")"
    }
}

extension Database {
    fileprivate var enforcesForeignKeys: Bool {
        get throws { try Bool.fetchOne(self, sql: "PRAGMA foreign_keys") ?? false }
    }

    /// Whether the transaction violates constraints that are checked at the commit.
    /// <https://www.sqlite.org/c3ref/c_dbstatus_options.html>
    fileprivate var hasOpenForeignKeys: Bool {
        var (current, highest): (Int32, Int32) = (0, 0)
        sqlite3_db_status(sqliteConnection, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0)
        return current != 0
    }
}

/// Runs a check on its own connection while another one runs another check. Each keeps a processor
/// busy, mostly with decrypting pages.
///
/// It only saves time. If it gets no result, because of a lock, a damaged page, or a function that
/// only the caller's connection has, the caller's connection runs the check itself.
final class CheckAlongside<Value: Sendable>: Sendable {
    private let end = DispatchGroup()
    private let stopping = Cancellation()
    private let outcome = Locked<Value?>(nil)
    private let cancellation: Cancellation?

    /// Runs the check on the other connection.
    typealias Reading = @Sendable ((Database) throws -> Value) throws -> Value

    /// Starts the check.
    ///
    /// - Parameters:
    ///   - check: The check.
    ///   - reading: Opens a connection for it.
    init(
        _ cancellation: Cancellation?,
        _ check: @escaping @Sendable (Database) throws -> Value,
        _ reading: @escaping Reading
    ) {
        self.cancellation = cancellation
        // A separate thread: all threads of the global queues may be blocked, perhaps waiting for
        // this.
        DispatchQueue(label: "MigrationKit.checkAlongside").async(group: end) { [self] in
            let result = try? reading { db in
                try db.withProgressHandler(every: 20_000, { self.continues }) { try check(db) }
            }
            outcome.withLock { $0 = result }
        }
    }

    /// Waits for the outcome.
    ///
    /// - Parameter sign: Called again and again meanwhile.
    /// - Returns: `nil` if there is no outcome.
    func result(_ sign: () -> Void) throws -> Value? {
        while end.wait(timeout: .now() + .milliseconds(100)) == .timedOut { sign() }
        try cancellation?.check()
        return outcome.withLock { $0 }
    }

    /// Stops the check, and returns when its connection is free.
    func stop() {
        stopping.cancel()
        end.wait()
    }

    private var continues: Bool {
        !stopping.isCancelled && cancellation?.isCancelled != true
    }
}

extension CheckAlongside<VerificationOutcome> {
    /// Starts `foreign_key_check` on another connection, with the writer's configuration. Returns
    /// `nil` if the database is small or allows no second connection.
    convenience init?(foreignKeysIn writer: any DatabaseWriter, _ cancellation: Cancellation?) {
        guard let path = try? writer.largeFile() else { return nil }
        self.init(cancellation, GRDBMigrationVerifier.foreignKeys) { body in
            guard writer is DatabaseQueue else { return try writer.read(body) }
            var configuration = writer.configuration.forReadingAlongside
            configuration.readonly = true
            return try DatabaseQueue(path: path, configuration: configuration).readAndClose(body)
        }
    }
}
