import Foundation
import GRDB
import MigrationKit

/// Follows one verification: runs its checks, times them and reports them.
package final class VerificationMonitor {
    /// The checks that are done, in order.
    package private(set) var checks: [VerificationCheck] = []

    /// ``VerificationOptions/opensReader``.
    package var opensReader: (@Sendable (_ path: String) throws -> DatabaseQueue)?

    /// ``VerificationOptions/usesSQLiteIntegrityCheck``.
    package let usesSQLiteIntegrityCheck: Bool

    /// ``VerificationOptions/schemaCheck``.
    let schemaCheck: (any SchemaCheck)?

    package let operation: LongOperation<VerificationEvent>
    private var name = ""
    private var start = ContinuousClock.now

    package init(_ options: VerificationOptions) {
        operation = options.operation
        opensReader = options.opensReader
        usesSQLiteIntegrityCheck = options.usesSQLiteIntegrityCheck
        schemaCheck = options.schemaCheck
    }

    /// Runs a check, and turns its error into an outcome.
    ///
    /// - Parameter body: The check. It throws if it can't run, or if something is wrong.
    /// - Throws: Errors that aren't about the database: a lock, a disk error, a cancellation.
    @discardableResult
    package func check(
        _ name: String,
        _ body: () throws -> VerificationOutcome
    ) throws -> VerificationCheck {
        try operation.checkCancellation()
        self.name = name
        start = .now
        operation.report(.checkStarted(name: name))
        let outcome: VerificationOutcome
        do {
            outcome = try body()
        } catch let error as DatabaseError where error.resultCode.preventsReading {
            throw error
        } catch let error as CancellationError {
            throw error
        } catch {
            outcome = VerificationOutcome(error)
        }
        return finish(outcome)
    }

    /// Records a check that wasn't run, and why.
    func skip(_ name: String, because note: String) throws {
        try check(name) { VerificationOutcome(note: note) }
    }

    /// Records that nothing was compared with migrations, and why.
    package func skipComparisons(because note: String) throws {
        for name in ["schema", "ledger"] { try skip(name, because: note) }
    }

    /// Ends the running check with this outcome.
    @discardableResult
    package func finish(_ outcome: VerificationOutcome) -> VerificationCheck {
        let check = VerificationCheck(
            name: name,
            detail: outcome.detail,
            note: outcome.noteWithUnchecked,
            findings: outcome.findings,
            unlistedCount: outcome.count - outcome.findings.count,
            seconds: (.now - start) / .seconds(1)
        )
        checks.append(check)
        operation.report(.checkFinished(check))
        return check
    }

    /// Runs a check on a reading connection, in its own transaction: after a page that can't be
    /// decrypted, SQLite reads no further page in the same transaction.
    package func check(
        _ name: String,
        in writer: any DatabaseWriter,
        _ body: (Database) throws -> VerificationOutcome
    ) throws {
        try check(name) { try reading(writer, body) }
    }

    /// Reads for a check, in a transaction.
    ///
    /// - Parameter withConstraints: Whether the check needs CHECK constraints.
    package func reading<Value>(
        _ writer: any DatabaseWriter,
        withConstraints: Bool = false,
        _ body: (Database) throws -> Value
    ) throws -> Value {
        func watched(_ db: Database) throws -> Value {
            do {
                let value = try watching(db) { try body(db) }
                guard try !db.hasUnreadablePages else { throw DatabaseError.unreadablePage }
                return value
            } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
                throw try db.hasUnreadablePages ? DatabaseError.unreadablePage : error
            }
        }
        return try unharmed(writer) { connection in
            withConstraints
                ? try connection.readingWithConstraints(watched) : try connection.read(watched)
        }
    }

    /// Uses another connection, if this one came to a page that can't be authenticated: it would read
    /// zeros for the others. See `Database.hasUnreadablePages`.
    package func unharmed<Value>(
        _ writer: any DatabaseWriter,
        _ body: (any DatabaseWriter) throws -> Value
    ) throws -> Value {
        let path = try writer.unsafeReentrantRead { try $0.hasUnreadablePages ? $0.filePath : nil }
        guard let path else { return try body(writer) }
        var configuration = writer.configuration.forReadingAlongside
        configuration.readonly = true
        let reader = try? DatabaseQueue(path: path, configuration: configuration)
        // Another program may hold a lock that lets nobody read. Then the check says what it can.
        let opens =
            (try? reader?.read { try $0.execute(sql: "SELECT 1 FROM sqlite_schema") }) != nil
        guard let reader, opens else { return try body(writer) }
        defer { try? reader.close() }
        return try body(reader)
    }

    /// Runs SQL that reports progress and can be interrupted in the middle of a statement.
    package func watching<Value>(_ db: Database, _ body: () throws -> Value) throws -> Value {
        try operation.watching(db, every: 20_000, reporting: { signs }, body)
    }

    /// Waits for a check on another connection.
    package func result<Value>(of check: CheckAlongside<Value>) throws -> Value? {
        try check.result { _ = operation.continues { signs } }
    }

    private var signs: [VerificationEvent] {
        [.checkContinues(name: name, seconds: (.now - start) / .seconds(1))]
    }
}
