import GRDB
import MigrationKit
import MigrationKitGRDB
import MigrationKitRescue

// The examples of Documentation/Rehearsing.md. `DocumentationExampleTests` compares the texts.

/// Tries the pending steps on a copy of a database.
public func rehearse(_ runner: GRDBMigrationRunner, on database: any DatabaseWriter) async throws {
    let report = try await asyncRun { try runner.rehearse(in: database) }
    print(report.isSuccessful, report.migrationSeconds, report.room.byteCount)
}
