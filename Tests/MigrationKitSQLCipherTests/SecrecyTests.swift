import CSQLCipher
@testable import MigrationKitPages
import Foundation
import GRDB
import MigrationKitKeys
import Synchronization
import TestSupport
import Testing

@testable import MigrationKitSQLCipher

@Suite struct SecrecyTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Every statement of every connection, as SQLite's own trace sees it.
    @Test(arguments: try TestKey.each())
    func theKeyIsInNoStatementAndInNoError(key: TestKey) throws {
        final class Log: Sendable {
            let lines = Mutex<[String]>([])
        }
        let log = Log()
        try Fixtures.encrypted(folder.database, key: key)
        var configuration = Configuration()
        configuration.publicStatementArguments = true
        configuration.prepareDatabase { db in
            db.trace { event in log.lines.withLock { $0.append(event.expandedDescription) } }
        }
        let setup = ConnectionSetup(key: key.key, options: .init())
        configuration.prepareDatabase { try setup.prepare($0) }
        try DatabaseQueue(path: folder.database, configuration: configuration).close()
        let lines = log.lines.withLock { $0 }
        #expect(lines.contains { $0.contains("temp_store") })
        for fragment in key.fragments {
            #expect(!lines.joined().contains(fragment))
        }

        try folder.damage(at: 100)
        let error = #expect(throws: EncryptedDatabaseError.self) {
            try EncryptedDatabase.open(folder.database, key: key.key)
        }
        let direct = #expect(throws: DatabaseError.self) {
            try DatabaseQueue(
                path: folder.database,
                configuration: EncryptedDatabase.configuration(key: key.key)
            )
        }
        let texts = try [
            String(reflecting: #require(error)), #require(error).localizedDescription,
            String(reflecting: #require(direct)), #require(direct).expandedDescription,
        ]
        for text in texts {
            for fragment in key.fragments { #expect(!text.contains(fragment)) }
        }
    }

    /// An authorizer that ignores pragmas makes a real connection that doesn't answer as
    /// SQLCipher's do.
    @Test func aConnectionThatIsNotSQLCipherIsRefusedBeforeItGetsTheKey() throws {
        let setup = ConnectionSetup(key: try .generate(), options: .init())
        var configuration = Configuration()
        configuration.prepareDatabase { db in
            sqlite3_set_authorizer(
                db.sqliteConnection,
                { _, action, _, _, _, _ in
                    action == SQLITE_PRAGMA ? SQLITE_IGNORE : SQLITE_OK
                },
                nil
            )
            try setup.prepare(db)
        }
        #expect(throws: EncryptedDatabaseError.noSQLCipher) {
            try DatabaseQueue(path: folder.database, configuration: configuration)
        }
        #expect(try folder.names.isEmpty || folder.databaseData().isEmpty)
    }
}
