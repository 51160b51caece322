import Foundation
import GRDB
import MigrationKit
import MigrationKitCLI
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitSQL
import Testing

/// A disk that fails is told from a permission that is missing, and from a step that is wrong.
@Suite struct DiskFailureTests {
    private static let codes: [(code: Int32, reason: String, exitCode: Int32)] = [
        (ENOLCK, "no locks available", 74), (EIO, "input/output error", 74),
        (ENOSPC, "no space left on device", 74), (EACCES, "permission denied", 77),
        (EISDIR, "is a directory", 77),
    ]

    @Test(arguments: codes)
    func lockThatCannotBeMade(_ code: Int32, _ reason: String, _ exitCode: Int32) {
        let error = MigrationKitError.cannotLock(path: "/tmp/a.db-migration.lock", code: code)
        #expect(MigrationCLI.exitCode(for: error) == exitCode)
        #expect(error.localizedDescription.hasSuffix(reason))
    }

    @Test(arguments: codes)
    func folderThatCannotBeRead(_ code: Int32, _ reason: String, _ exitCode: Int32) {
        let error = MigrationFolderError.unreadable(file: "0001_a.sql", code: code)
        #expect(MigrationCLI.exitCode(for: error) == exitCode)
        #expect(error.localizedDescription == "0001_a.sql: can't be read: \(reason)")
    }

    private static let results: [(code: ResultCode, exitCode: Int32)] = [
        (.SQLITE_IOERR, 74), (.SQLITE_CANTOPEN, 74), (.SQLITE_FULL, 74), (.SQLITE_PROTOCOL, 74),
        (.SQLITE_READONLY, 77), (.SQLITE_BUSY, 75), (.SQLITE_ERROR, 1),
    ]

    @Test(arguments: [(true, Int32(74)), (false, 2)])
    func schemaThatIsNotReadableIsNotWrong(_ isReadFailure: Bool, _ exitCode: Int32) {
        let error = GRDBMigrationSchemaError(
            message: "file is not a database",
            isReadFailure: isReadFailure
        )
        #expect(MigrationCLI.exitCode(for: error) == exitCode)
    }

    /// The numbers stand in a target that has no SQLite.
    @Test func resultCodesAreSQLitesNumbers() {
        let codes: KeyValuePairs<ResultCode, String?> = [
            .SQLITE_BUSY: "locked", .SQLITE_LOCKED: "locked", .SQLITE_BUSY_SNAPSHOT: "locked",
            .SQLITE_FULL: "diskFull", .SQLITE_IOERR: "inputOutput",
            .SQLITE_IOERR_FSYNC: "inputOutput", .SQLITE_CORRUPT: "damaged",
            .SQLITE_CANTOPEN: "inputOutput", .SQLITE_PROTOCOL: "inputOutput",
            .SQLITE_READONLY: "readOnly", .SQLITE_PERM: "readOnly", .SQLITE_AUTH: "readOnly",
            .SQLITE_ERROR: nil, .SQLITE_CONSTRAINT: nil, .SQLITE_NOTADB: nil,
        ]
        for (code, name) in codes {
            #expect(ErrorCode(sqlite: code.rawValue)?.name == name)
        }
    }

    @Test(arguments: results)
    func errorOfSQLite(_ code: ResultCode, _ exitCode: Int32) {
        #expect(MigrationCLI.exitCode(for: DatabaseError(resultCode: code)) == exitCode)
    }
}
