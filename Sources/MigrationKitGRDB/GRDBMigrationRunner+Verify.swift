import Foundation
import GRDB
import MigrationKit

extension GRDBMigrationRunner {
    /// Verifies a database: its integrity, the runner's required indexes, and what the host's
    /// hooks check in their place.
    ///
    /// - Parameter writer: The database. The runner's own checks only read it.
    /// - Throws: ``GRDBMigrationVerificationError`` for the first check that fails; what a hook of
    ///   the host throws.
    public func runPostMigrationChecks(in writer: any DatabaseWriter) throws {
        if let verifyPostMigration = integration.verifyPostMigration {
            try verifyPostMigration(writer)
            return try writer.read { db in
                try GRDBMigrationVerifier.verifyRequiredIndexes(
                    in: db,
                    requiredIndexes: furtherIndexes
                )
            }
        }
        try writer.read { try verify($0, isComplete: true) }
    }

    /// Runs the same checks as ``runPostMigrationChecks(in:)``, all of them, whatever fails.
    ///
    /// - Parameters:
    ///   - writer: The database. The runner's own checks only read it.
    ///   - additionalIndexes: Indexes that are required beside the runner's own.
    /// - Returns: The outcome of every check, in the order in which they ran.
    /// - Throws: A `DatabaseError` if the database can't be read.
    public func verificationChecks(
        in writer: any DatabaseWriter,
        additionalIndexes: [RequiredIndexSpec] = []
    ) throws -> [VerificationCheck] {
        var checks: [VerificationCheck] = []
        var indexes = furtherIndexes
        indexes += additionalIndexes.filter { !furtherIndexes.contains($0) }
        if let verifyPostMigration = integration.verifyPostMigration {
            try checks.append(check("verifyPostMigration") { try verifyPostMigration(writer) })
        } else {
            checks += try writer.read { db in
                if let verifyIntegrity = integration.verifyIntegrity {
                    return [try check("verifyIntegrity") { try verifyIntegrity(db) }]
                }
                return [
                    try check("quick_check") { try GRDBMigrationVerifier.verifyStructure(in: db) },
                    try check("foreign_key_check") {
                        try GRDBMigrationVerifier.verifyForeignKeys(in: db)
                    },
                ]
            }
            indexes = requiredIndexes + indexes.filter { !requiredIndexes.contains($0) }
        }
        return try checks
            + writer.read { db in
                try indexes.map { index in
                    try check("required_index \(index.table).\(index.index)") {
                        try GRDBMigrationVerifier.verifyRequiredIndexes(
                            in: db,
                            requiredIndexes: [index]
                        )
                    }
                }
            }
    }

    /// The checks that can run inside a transaction, and so before a commit.
    ///
    /// - Parameter isComplete: Whether no step is pending. As long as one is, the index that is
    ///   required may be what it creates.
    func verify(_ db: Database, isComplete: Bool) throws {
        // For the host's checks: another process may have changed the schema since this connection
        // has looked.
        db.clearSchemaCache()
        let hostVerifiesAfterwards = integration.verifyPostMigration != nil && isComplete
        if let verifyIntegrity = integration.verifyIntegrity {
            try verifyIntegrity(db)
        } else if !hostVerifiesAfterwards {
            try GRDBMigrationVerifier.verifyIntegrity(in: db)
        }
        if isComplete, !hostVerifiesAfterwards {
            try GRDBMigrationVerifier.verifyRequiredIndexes(
                in: db,
                requiredIndexes: requiredIndexes
            )
        }
        if isComplete {
            try GRDBMigrationVerifier.verifyRequiredIndexes(
                in: db,
                requiredIndexes: furtherIndexes
            )
        }
        try integration.verifyBeforeCommit?(db)
    }

    /// Turns what a check throws into its outcome.
    private func check(_ name: String, _ body: () throws -> Void) throws -> VerificationCheck {
        do {
            try body()
            return VerificationCheck(name: name)
        } catch let error as DatabaseError where error.resultCode.preventsReading {
            throw error
        } catch {
            return VerificationCheck(name: name, detail: error.localizedDescription)
        }
    }
}

extension ResultCode {
    /// Whether the database could not be read, which says nothing about its soundness.
    fileprivate var preventsReading: Bool {
        switch self {
        case .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_IOERR, .SQLITE_INTERRUPT, .SQLITE_NOMEM,
            .SQLITE_CANTOPEN, .SQLITE_FULL, .SQLITE_PERM, .SQLITE_AUTH:
            true
        default:
            false
        }
    }
}
