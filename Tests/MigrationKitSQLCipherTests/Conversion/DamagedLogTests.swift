import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitSQLCipher
import TestSupport
import Testing

/// A frame in the middle of a write-ahead log is damaged. SQLite sees nothing of the commits from
/// there on, and throws them away once the database is opened for writing.
@Suite struct DamagedLogTests {
    private let folder: TemporaryFolder
    private let key: TestKey

    init() throws {
        folder = try TemporaryFolder()
        key = try .raw()
    }

    /// Leaves four commits in the log only, each of one frame, as a program leaves them that was
    /// killed: the files are taken while it has the database open.
    private func leaveLog(
        in folder: TemporaryFolder,
        key: DatabaseKey?,
        cipher: CipherSettings = .current
    ) throws {
        let options = EncryptedDatabase.Options(createsFile: true, cipher: cipher)
        let queue =
            try key.map { try EncryptedDatabase.open(folder.database, key: $0, options: options) }
            ?? EncryptedDatabase.openPlaintext(folder.database, options: options)
        try queue.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS t(a);
                    PRAGMA wal_checkpoint(TRUNCATE);
                    INSERT INTO t VALUES ('a'); INSERT INTO t VALUES ('b');
                    INSERT INTO t VALUES ('c'); INSERT INTO t VALUES ('d');
                    """
            )
        }
        let (database, log) = (try folder.databaseData(), try folder.data("notes.db-wal"))
        try queue.close()
        try folder.write("notes.db", database)
        try folder.write("notes.db-wal", log)
    }

    /// Where a bit is flipped, and which frame is lost by it: of the log's header the magic and the
    /// salt; the salt and the content of frames, the last one's among them.
    private static let places = [
        (1, 1), (17, 1), (32 + 24 + 500, 1), (32 + 4120 + 9, 2), (32 + 4120 + 24 + 500, 2),
        (32 + 3 * 4120 + 24 + 500, 4),
    ]

    /// Damages the log at each place, and expects that nothing comes about and all files stay.
    private func expectRefusals(
        in folder: TemporaryFolder,
        key: DatabaseKey?,
        cipher: CipherSettings = .current,
        _ attempt: () throws -> Void
    ) throws {
        try leaveLog(in: folder, key: key, cipher: cipher)
        let sound = try folder.data("notes.db-wal")
        try #require(sound.count == 32 + 4 * 4120)
        for (place, frame) in Self.places {
            var data = sound
            data[place] ^= 1
            try folder.write("notes.db-wal", data)
            let before = try files(in: folder)
            #expect(
                throws: EncryptedDatabaseError.damagedLog(path: folder.database, frame: frame),
                "\(place)",
                performing: attempt
            )
            #expect(try files(in: folder) == before, "\(place)")
        }
        try folder.write("notes.db-wal", sound)
    }

    /// All of it, but that the folder itself may have had a file for a while.
    private func files(in folder: TemporaryFolder) throws -> [String: FolderSnapshot.Entry] {
        try folder.snapshot().entries.filter { $0.key != "." }
    }

    private func rows(_ path: String, key: TestKey) throws -> String {
        try SQLCipherShell.run(path, key: key.spelling, "SELECT a FROM t;")
    }

    @Test func aConnectionThatOnlyReadsKeepsIt() throws {
        try leaveLog(in: folder, key: key.key)
        let (database, sound) = (try folder.databaseData(), try folder.data("notes.db-wal"))
        for (place, frame) in Self.places {
            var data = sound
            data[place] ^= 1
            try folder.write("notes.db-wal", data)
            let queue = try EncryptedDatabase.open(folder.database, key: key.key)
            let count = try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") }
            try queue.close()
            #expect(count == frame - 1, "\(place)")
            #expect(try folder.data("notes.db-wal") == data, "\(place)")
            #expect(try folder.databaseData() == database, "\(place)")
        }
        try folder.write("notes.db-wal", sound)
        try EncryptedDatabase.open(folder.database, key: key.key).close()
        #expect(try rows(folder.database, key: key) == "a\nb\nc\nd")
    }

    @Test func rekeyRefusesItAndTakesASoundOne() throws {
        let new = try TestKey.raw()
        let conversion = DatabaseConversion.rekey(folder.database, from: key.key, to: new.key)
        try expectRefusals(in: folder, key: key.key) { try conversion.run() }
        #expect(try conversion.run().rowCount == 4)
        #expect(try rows(folder.database, key: new) == "a\nb\nc\nd")
    }

    @Test func itIsNotOpenedForAnOutputOfItsOwnEither() throws {
        let output = folder.path("new.db")
        let conversion = DatabaseConversion.decrypt(folder.database, key: key.key)
        try expectRefusals(in: folder, key: key.key) { try conversion.run(to: output) }
        #expect(try conversion.run(to: output).rowCount == 4)
        #expect(try SQLiteShell.run(output, "SELECT a FROM t;") == "a\nb\nc\nd\n")
    }

    @Test func encryptionRefusesItAndTakesASoundOne() throws {
        let conversion = DatabaseConversion.encrypt(folder.database, key: key.key)
        try expectRefusals(in: folder, key: nil) { try conversion.run() }
        #expect(try conversion.run().rowCount == 4)
        #expect(try rows(folder.database, key: key) == "a\nb\nc\nd")
    }

    @Test func decryptionRefusesItAndTakesASoundOne() throws {
        let conversion = DatabaseConversion.decrypt(folder.database, key: key.key)
        try expectRefusals(in: folder, key: key.key) { try conversion.run() }
        #expect(try conversion.run().rowCount == 4)
        #expect(try SQLiteShell.run(folder.database, "SELECT a FROM t;") == "a\nb\nc\nd\n")
    }

    @Test func upgradeRefusesItAndTakesASoundOne() throws {
        // With pages of today's size, so that the log's places are those of the others.
        let older = try CipherSettings(compatibility: 3, pageSize: 4096)
        let conversion = DatabaseConversion.upgrade(folder.database, key: key.key, cipher: older)
        try expectRefusals(in: folder, key: key.key, cipher: older) { try conversion.run() }
        #expect(try conversion.run().rowCount == 4)
        #expect(try rows(folder.database, key: key) == "a\nb\nc\nd")
    }

    @Test func backupRefusesItAndTakesASoundOne() throws {
        let output = folder.path("backup.db")
        let backup = DatabaseBackup(folder.database, to: output, form: .encrypted(key.key))
        try expectRefusals(in: folder, key: key.key) { try backup.run() }
        try backup.run()
        #expect(try rows(output, key: key) == "a\nb\nc\nd")
    }

    @Test func keyRotationRefusesItAndTakesASoundOne() throws {
        let store = try RotatedStore(key)
        try expectRefusals(in: store.folder, key: key.key) { try store.rotation().run() }
        #expect(try store.key() == key.key)
        #expect(try store.keys.items(service: nil, account: nil).count == 1)
        #expect(try store.rotation().run().conversion.rowCount == 5)
        try store.expectSettled()
    }

    // MARK: - Restoring

    @Test func backupThatIsRestoredIsRefused() throws {
        let restore = DatabaseRestore(
            folder.path("restored.db"),
            from: folder.database,
            form: .encrypted(key.key)
        )
        try expectRefusals(in: folder, key: key.key) { try restore.run() }
        try restore.run()
        #expect(try rows(folder.path("restored.db"), key: key) == "a\nb\nc\nd")
    }

    /// The key of what is replaced is not known.
    @Test func originalThatIsToBeKeptIsRefused() throws {
        let (backup, original) = (folder.path("backup.db"), folder.path("original.db"))
        let other = try TestKey.raw()
        try Fixtures.encrypted(backup, key: other)
        let restore = DatabaseRestore(
            folder.database,
            from: backup,
            form: .encrypted(other.key)
        )
        try expectRefusals(in: folder, key: key.key) {
            try restore.run(keptOriginalPath: original)
        }
        // A sound one may be another database's: with its key, it is the database's own.
        let before = try files(in: folder)
        #expect(
            throws: EncryptedDatabaseError.otherJournal(
                path: folder.database,
                journal: folder.database + "-wal",
                mismatch: .unproved,
                isSound: nil
            )
        ) { try restore.run(keptOriginalPath: original) }
        #expect(try files(in: folder) == before)
        try EncryptedDatabase.open(folder.database, key: key.key).close()
        try restore.run(keptOriginalPath: original)
        #expect(try rows(folder.database, key: other) == "zettel")
        #expect(try rows(original, key: key) == "a\nb\nc\nd")
    }

    @Test func whatIsThrownAwayMayHaveADamagedLog() throws {
        let backup = folder.path("backup.db")
        let other = try TestKey.raw()
        try Fixtures.encrypted(backup, key: other)
        try leaveLog(in: folder, key: key.key)
        var log = try folder.data("notes.db-wal")
        log[32 + 4120 + 24 + 500] ^= 1
        try folder.write("notes.db-wal", log)
        try DatabaseRestore(folder.database, from: backup, form: .encrypted(other.key)).run()
        #expect(try rows(folder.database, key: other) == "zettel")
    }

    /// A bit of the backup, or somebody at the keyboard, ends it once the target is locked.
    @Test func restoringThatFailsLeavesADamagedLogAsItIs() throws {
        let backup = folder.path("backup.db")
        let other = try TestKey.raw()
        try Fixtures.encrypted(backup, key: other)
        let sound = try folder.data("backup.db")
        var damaged = sound
        damaged[4096 + 77] ^= 1
        try leaveLog(in: folder, key: key.key)
        let log = try folder.data("notes.db-wal")
        for (place, _) in Self.places {
            var data = log
            data[place] ^= 1
            try folder.write("notes.db-wal", data)

            try folder.write("backup.db", damaged)
            let before = try files(in: folder)
            #expect(throws: EncryptedDatabaseError.damaged(path: backup, pages: [2]), "\(place)") {
                try DatabaseRestore(folder.database, from: backup, form: .encrypted(other.key))
                    .run()
            }
            #expect(try files(in: folder) == before, "\(place)")

            try folder.write("backup.db", sound)
            let whole = try files(in: folder)
            let cancellation = Cancellation()
            let restore = DatabaseRestore(
                folder.database,
                from: backup,
                form: .encrypted(other.key),
                options: .init(cancellation: cancellation) {
                    if case .progress(.verifying, _, _) = $0 { cancellation.cancel() }
                }
            )
            #expect(throws: CancellationError.self, "\(place)") { try restore.run() }
            #expect(try files(in: folder) == whole, "\(place)")
        }
    }

    // MARK: - What Is Told

    @Test func inspectionCountsTheFramesBehindADamagedOne() throws {
        try leaveLog(in: folder, key: key.key)
        let sound = try folder.data("notes.db-wal")
        for (place, frame) in Self.places.dropFirst() {
            var data = sound
            data[place] ^= 1
            try folder.write("notes.db-wal", data)
            let report = try EncryptedDatabase.inspect(folder.database, key: key.key)
            let log = try #require(report.journals.first?.log)
            #expect(report.damage?.logFrame == frame)
            #expect(log.frameCount == 4, "\(place)")
            #expect(log.committedFrameCount == frame - 1, "\(place)")
        }
    }

    @Test func errorNamesTheFrameAndTheWayOut() {
        let error = EncryptedDatabaseError.damagedLog(path: "notes.db", frame: 2)
        #expect(error.errorDescription == "the write-ahead log of notes.db is damaged in frame 2")
        #expect(error.recoverySuggestion?.contains("-wal") == true)
        #expect(error.recoverySuggestion?.contains("Salvaging") == true)
    }
}
