import GRDB
import MigrationKit
import MigrationKitCLI
import Testing

/// A disk that fails is told from a permission that is missing, and from a step that is wrong.
@Suite struct DiskFailureTests {
    @Test(arguments: [
        ("no locks available", 74), ("input/output error", 74), ("no space left on device", 74),
        ("permission denied", 77), ("is a directory", 77),
    ])
    func lockThatCannotBeMade(_ reason: String, _ code: Int32) {
        let error = MigrationKitError.cannotLock(path: "/tmp/a.db-migration.lock", reason: reason)
        #expect(MigrationCLI.exitCode(for: error) == code)
    }

    @Test(arguments: [
        (ResultCode.SQLITE_IOERR, 74), (.SQLITE_CANTOPEN, 74), (.SQLITE_FULL, 74),
        (.SQLITE_PROTOCOL, 74), (.SQLITE_READONLY, 77), (.SQLITE_BUSY, 75), (.SQLITE_ERROR, 1),
    ])
    func errorOfSQLite(_ result: ResultCode, _ code: Int32) {
        #expect(MigrationCLI.exitCode(for: DatabaseError(resultCode: result)) == code)
    }
}
