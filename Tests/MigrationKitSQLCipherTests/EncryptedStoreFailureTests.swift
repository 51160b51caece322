import Foundation
import GRDB
import Glibc
import MigrationKitKeys
import MigrationKitSQLCipher
import Synchronization
import TestSupport
import Testing

/// Launches that fail, and what they leave alone.
@Suite struct EncryptedStoreFailureTests {
    private let folder: TemporaryFolder
    private let keys = InMemoryKeyStore()

    init() throws {
        folder = try TemporaryFolder()
    }

    private func open(
        _ keys: (any KeyStore)? = nil,
        path: String? = nil,
        options: EncryptedDatabase.Options = .init(),
        launchTimeout: TimeInterval = 60
    ) throws -> DatabaseQueue {
        try EncryptedStore(
            path: path ?? folder.database,
            keyStore: keys ?? self.keys,
            service: "org.example.Notes",
            account: "main",
            options: options,
            launchTimeout: launchTimeout
        ).open()
    }

    private func storedKey() throws -> DatabaseKey {
        try keys.key(service: "org.example.Notes", account: "main")
    }

    // MARK: - The key store

    @Test(
        arguments: [
            KeyStoreError.noBus, .noService, .noCollection(name: "default"),
            .locked(collection: "login"), .promptDismissed(collection: "login"),
            .ambiguous(service: "org.example.Notes", matches: ["a", "b"]),
            .timedOut(seconds: 30), .failure(message: "it broke"),
        ]
    )
    func aKeyStoreThatCanNotBeAskedIsNotTakenForOneWithoutTheKey(error: KeyStoreError) throws {
        keys.fail(with: error)
        #expect(throws: error) { try open() }
        #expect(try folder.names == [])

        try Fixtures.encrypted(folder.database, key: .raw())
        let before = try folder.snapshot()
        #expect(throws: error) { try open() }
        #expect(try folder.snapshot() == before)

        keys.fail(with: nil)
        #expect(try keys.items(service: nil, account: nil) == [])
    }

    @Test func aStoreThatKeepsNothingGetsNoFile() throws {
        let notKept = EncryptedStoreError.keyNotKept(
            service: "org.example.Notes",
            account: "main",
            hasDatabase: false
        )
        #expect(throws: notKept) { try open(OtherKeyStore(after: { $0.forget() })) }
        #expect(throws: notKept) { try open(OtherKeyStore(after: { try $0.replaceKey() })) }
        #expect(try folder.names == [])
    }

    @Test func anItemThatIsMadeMeanwhileIsUsedAndNotReplaced() throws {
        let key = try DatabaseKey.generate()
        let other = OtherKeyStore(before: { other in
            try other.keys.store(key, service: "org.example.Notes", account: "main")
        })
        try open(other).close()
        #expect(other.wasGivenAKey)
        try EncryptedDatabase.open(folder.database, key: key).close()
        #expect(try other.keys.items(service: nil, account: nil).count == 1)
    }

    @Test func itemThatCanNotBeAKeyIsReported() throws {
        keys.add(Secret(utf8: ""), service: "org.example.Notes", account: "main")
        #expect(throws: DatabaseKeyError.empty) { try open() }
        #expect(try folder.names == [])
    }

    // MARK: - The file

    @Test func whereNoFileCanBeMadeNoKeyIsMade() throws {
        let missing = folder.path("missing/notes.db")
        #expect(
            throws: EncryptedDatabaseError.cannotCreate(
                path: missing,
                reason: "its folder does not exist"
            )
        ) { try open(path: missing) }

        let link = folder.path("link.db")
        try FileManager.default.createSymbolicLink(
            atPath: link,
            withDestinationPath: folder.path("not mounted")
        )
        #expect(
            throws: EncryptedDatabaseError.cannotCreate(
                path: link,
                reason: "it is a link to a file that does not exist"
            )
        ) { try open(path: link) }

        #expect(throws: EncryptedDatabaseError.isDirectory(path: folder.path)) {
            try open(path: folder.path)
        }
        #expect(throws: EncryptedDatabaseError.noSuchFile(path: "")) { try open(path: "") }
        #expect(try keys.items(service: nil, account: nil) == [])
        #expect(try folder.names == ["link.db"])
    }

    @Test func aCreationThatFailsLeavesTheKeyForTheNextLaunch() throws {
        struct Refused: Error, Equatable {}
        let options = EncryptedDatabase.Options(prepareDatabase: { _ in throw Refused() })
        #expect(throws: Refused()) { try open(options: options) }
        #expect(try folder.names == [])
        let key = try storedKey()

        try open().close()
        #expect(try storedKey() == key)
        try EncryptedDatabase.open(folder.database, key: key).close()
    }

    /// Killed between the writing of the first page and its commit.
    @Test func aBeginningThatIsUndoneIsBegunAgain() throws {
        try open().close()
        let page = try folder.databaseData()
        try folder.write("notes.db-journal", Crash.journalOfNothing)

        let first = try open()
        #expect(try folder.databaseData() != page)
        #expect(try folder.databaseData().count == 4096)
        // With a first page, and so a salt, two can go on with it.
        let second = try open()
        try first.write { try $0.execute(sql: "CREATE TABLE t(a)") }
        try second.write { try $0.execute(sql: "INSERT INTO t VALUES (1)") }
        #expect(try first.read { try Int.fetchOne($0, sql: "SELECT a FROM t") } == 1)
    }

    // MARK: - The lock

    @Test func theLockIsThereDuringAFirstLaunchOnly() throws {
        let seen = Mutex<[String?]>([])
        let options = EncryptedDatabase.Options(prepareDatabase: { _ in
            let lock = try? folder.data("notes.db-launch.lock")
            seen.withLock { $0.append(lock.map { String(decoding: $0, as: UTF8.self) }) }
            #expect(lock == nil || folder.mode("notes.db-launch.lock") == 0o600)
        })
        try open(options: options).close()
        #expect(seen.withLock { Set($0) } == ["\(getpid())\n"])
        #expect(try folder.names == ["notes.db"])

        seen.withLock { $0 = [] }
        try open(options: options).close()
        #expect(seen.withLock { Set($0) } == [nil])
    }

    @Test(arguments: [nil, 4242])
    func aFirstLaunchThatTakesTooLongIsToldWithItsProcess(processIdentifier: Int32?) throws {
        let other = try OtherLaunch(of: folder, saying: processIdentifier.map { "\($0)\n" } ?? "")
        #expect(
            throws: EncryptedStoreError.launchInProgress(
                path: folder.database,
                processIdentifier: processIdentifier
            )
        ) { try open(launchTimeout: 0.05) }
        #expect(try keys.items(service: nil, account: nil) == [])
        #expect(try folder.names == ["notes.db-launch.lock"])

        other.end()
        try open(launchTimeout: 0).close()
        #expect(try folder.names == ["notes.db"])
    }

    @Test func aFirstLaunchElsewhereIsWaitedFor() throws {
        let other = try OtherLaunch(of: folder)
        let waiting = Background { try open() }
        other.awaitSecond()

        let key = try DatabaseKey.generate()
        try keys.store(key, service: "org.example.Notes", account: "main")
        let options = EncryptedDatabase.Options(createsFile: true)
        let made = try EncryptedDatabase.open(folder.database, key: key, options: options)
        try made.write { try $0.execute(sql: "CREATE TABLE t(a)") }
        other.end()

        #expect(try waiting.value().read { try $0.tableExists("t") })
        #expect(try folder.names == ["notes.db"])
        #expect(try storedKey() == key)
    }

    @Test func aFileThatAppearsWhileALaunchWaitsGetsNoNewKey() throws {
        let other = try OtherLaunch(of: folder)
        let waiting = Background { try open() }
        other.awaitSecond()
        try Fixtures.encrypted(folder.database, key: .raw())
        other.end()

        let keyMissing = EncryptedStoreError.keyMissing(
            path: folder.database,
            service: "org.example.Notes",
            account: "main"
        )
        #expect(throws: keyMissing) { try waiting.value() }
        #expect(try keys.items(service: nil, account: nil) == [])
    }

    @Test func aLockThatAKilledLaunchLeftIsRemovedByALaterOne() throws {
        try open().close()
        try folder.write("notes.db-launch.lock", Data("1\n".utf8))
        try open().close()
        #expect(try folder.names == ["notes.db"])
    }

    @Test func aLinkedFileHasItsLockBesideTheRealOne() throws {
        try FileManager.default.createDirectory(
            atPath: folder.path("real"),
            withIntermediateDirectories: false
        )
        try folder.write("real/notes.db", Data())
        try FileManager.default.createSymbolicLink(
            atPath: folder.database,
            withDestinationPath: folder.path("real/notes.db")
        )
        let options = EncryptedDatabase.Options(prepareDatabase: { _ in
            #expect(folder.mode("real/notes.db-launch.lock") == 0o600)
            #expect(folder.mode("notes.db-launch.lock") == nil)
        })
        try open(options: options).close()
        #expect(try folder.names == ["notes.db", "real"])
    }

    // MARK: - Words

    @Test(
        arguments: [
            (
                EncryptedStoreError.keyMissing(path: "notes.db", service: "s", account: "a"),
                #"the key of notes.db is missing: the key store has no item with service "s" and username "a""#
            ),
            (
                .keyNotKept(service: "s", account: "a", hasDatabase: false),
                #"the new key with service "s" and username "a" could not be read back"#
            ),
            (
                .launchInProgress(path: "notes.db", processIdentifier: 7),
                "notes.db is being created or encrypted by process 7"
            ),
            (
                .launchInProgress(path: "notes.db", processIdentifier: nil),
                "notes.db is being created or encrypted by another process"
            ),
        ] as [(EncryptedStoreError, String)]
    )
    func errorsSayWhatHappenedAndWhatToDo(error: EncryptedStoreError, description: String) throws {
        #expect(error.localizedDescription == description)
        #expect(try #require(error.recoverySuggestion).hasSuffix("."))
    }
}
