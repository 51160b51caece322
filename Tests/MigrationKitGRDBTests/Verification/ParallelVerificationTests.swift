import Foundation
import GRDB
import MigrationKit
import MigrationKitSQLCipher
import MigrationKitSchema
import Testing

/// Two connections come to the same outcome as one.
@Suite struct ParallelVerificationTests {
    let store: EncryptedStore

    /// More than is read by one connection for being small.
    init() throws {
        store = try EncryptedStore()
        let queue = try store.open()
        try queue.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
                    CREATE TABLE note (
                        id INTEGER PRIMARY KEY, author INTEGER REFERENCES author, body TEXT NOT NULL
                    );
                    CREATE TABLE scrap (
                        note INTEGER REFERENCES note, bytes BLOB CHECK (length(bytes) > 0)
                    );
                    INSERT INTO author VALUES (1, 'Ada'), (2, 'Grace');
                    WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 3000)
                    INSERT INTO note SELECT x, x % 2 + 1, hex(randomblob(500)) FROM n;
                    INSERT INTO scrap SELECT id, randomblob(900) FROM note;
                    CREATE INDEX note_author ON note (author);
                    """
            )
        }
        try queue.close()
    }

    /// How a database can be unsound.
    enum Fault: CaseIterable {
        case none, foreignKeys, manyForeignKeys, missingValue, brokenRule, damagedNote,
            damagedScrap,
            damagedIndex
        case missingParentTable

        /// Whether SQLCipher can't read a page. From 4.19 on, each later check then needs a connection
        /// of its own.
        var isUnreadable: Bool { [.damagedNote, .damagedScrap, .damagedIndex].contains(self) }
    }

    private func damage(_ fault: Fault) throws {
        func change(_ sql: String) throws {
            let queue = try store.open()
            try queue.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA foreign_keys = OFF; \(sql)")
            }
            try queue.close()
        }
        func damagePage(of object: String) throws {
            let queue = try store.open()
            let page = try queue.read { db in
                try Int.fetchOne(
                    db,
                    sql: "SELECT rootpage FROM sqlite_master WHERE name = ?",
                    arguments: [object]
                )
            }
            try queue.close()
            let file = try #require(FileHandle(forUpdatingAtPath: store.path))
            try file.seek(toOffset: UInt64((try #require(page) - 1) * 4096 + 100))
            try file.write(contentsOf: Data(repeating: 7, count: 16))
            try file.close()
        }
        switch fault {
        case .none: break
        case .foreignKeys: try change("DELETE FROM note WHERE id IN (5, 700)")
        case .manyForeignKeys: try change("DELETE FROM author WHERE id = 2")
        case .missingValue:
            try change(
                """
                PRAGMA writable_schema = 1;
                UPDATE sqlite_master SET sql = replace(sql, 'body TEXT NOT NULL', 'body TEXT')
                    WHERE name = 'note';
                PRAGMA writable_schema = RESET;
                UPDATE note SET body = NULL WHERE id = 9;
                PRAGMA writable_schema = 1;
                UPDATE sqlite_master SET sql = replace(sql, 'body TEXT', 'body TEXT NOT NULL')
                    WHERE name = 'note';
                """
            )
        case .brokenRule:
            try change("PRAGMA ignore_check_constraints = 1; INSERT INTO scrap VALUES (1, '')")
        case .damagedNote: try damagePage(of: "note")
        case .damagedScrap: try damagePage(of: "scrap")
        case .damagedIndex: try damagePage(of: "note_author")
        case .missingParentTable: try change("DROP TABLE author")
        }
    }

    /// - Parameter connections: Gets a number for each connection that is opened.
    private func open(_ connections: Recorder<Int>) throws -> DatabaseQueue {
        try EncryptedDatabase.open(
            store.path,
            key: store.key,
            options: .init(prepareDatabase: { _ in connections.append(1) })
        )
    }

    private func checks(
        in writer: any DatabaseWriter,
        _ options: VerificationOptions = VerificationOptions()
    ) throws -> [VerificationCheck] {
        try GRDBMigrationRunner(steps: []).verificationChecks(in: writer, options: options)
    }

    /// GRDB's wrapper of any writer is read by its own connection only.
    @Test(arguments: Fault.allCases)
    func twoConnectionsFindWhatOneFinds(_ fault: Fault) throws {
        try damage(fault)
        let (one, two) = (Recorder<Int>(), Recorder<Int>())
        let expected = try checks(in: AnyDatabaseWriter(open(one)))
        #expect(one.values.count == 1 || fault.isUnreadable)
        #expect(expected.allSatisfy(\.ok) == (fault == .none))
        #expect(expected.map(\.name) == ["quick_check", "foreign_key_check"])

        #expect(try checks(in: open(two)) == expected)
        // What isn't sound is looked at once more: with the given connection, and one beside it.
        #expect(two.values.count == (fault == .none ? 3 : 4) || fault.isUnreadable)
        #expect(try checks(in: store.openPool()) == expected)
    }

    /// Indexes are compared on two connections as well.
    @Test(arguments: Fault.allCases)
    func fullChecksFindTheSame(_ fault: Fault) throws {
        try damage(fault)
        func all(_ writer: any DatabaseWriter) throws -> [VerificationCheck] {
            try GRDBMigrationRunner(steps: []).verificationChecks(in: writer, isFull: true)
        }
        let (one, two) = (Recorder<Int>(), Recorder<Int>())
        let expected = try all(AnyDatabaseWriter(open(one)))
        #expect(one.values.count == 1 || fault.isUnreadable)
        #expect(expected.allSatisfy(\.ok) == (fault == .none))
        #expect(try all(open(two)) == expected)
        if fault == .none { #expect(two.values.count == 5) }
    }

    @Test func indexOnOtherValuesIsFoundOnTwoConnections() throws {
        let queue = try store.open()
        try queue.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    PRAGMA writable_schema = 1;
                    UPDATE sqlite_master SET sql = replace(sql, '(author)', '(id)')
                        WHERE name = 'note_author';
                    PRAGMA writable_schema = RESET;
                    """
            )
        }
        try queue.close()
        let connections = Recorder<Int>()
        let checks = try GRDBMigrationRunner(steps: []).verificationChecks(
            in: open(connections),
            isFull: true
        )
        #expect(connections.values.count == 5)
        #expect(checks.filter { !$0.ok }.map(\.name) == ["integrity_check"])
        #expect(checks.first { !$0.ok }?.findings.allSatisfy { $0.table == "note" } == true)
    }

    @Test func theCheckToldLastIsDoneLast() throws {
        let events = Recorder<String>()
        let options = VerificationOptions(observer: { event in
            switch event {
            case .checkStarted(let name): events.append("begin \(name)")
            case .checkFinished(let check): events.append("end \(check.name)")
            case .checkContinues: break
            }
        })
        _ = try checks(in: store.open(), options)
        #expect(
            events.values == [
                "begin quick_check", "end quick_check", "begin foreign_key_check",
                "end foreign_key_check",
            ]
        )
    }

    @Test func whatIsInTheLogIsChecked() throws {
        let pool = try store.openPool()
        #expect(try checks(in: pool).map(\.ok) == [true, true])
        try pool.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA foreign_keys = OFF; DELETE FROM author WHERE id = 2")
        }
        #expect(try checks(in: pool).map(\.ok) == [true, false])
        // The same from the file, once the log is in it.
        try pool.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
        #expect(try checks(in: pool).map(\.ok) == [true, false])
    }

    /// Others do their work on the queue that is given to GRDB, and keep it busy.
    @Test(arguments: [true, false])
    func targetQueueIsNoDeadlock(_ forWritesOnly: Bool) throws {
        let target = DispatchQueue(label: "target")
        let queue = try store.open {
            if forWritesOnly { $0.writeTargetQueue = target } else { $0.targetQueue = target }
        }
        #expect(try checks(in: queue).map(\.ok) == [true, true])
        try damage(.foreignKeys)
        #expect(try checks(in: queue).map(\.ok) == [true, false])
    }

    @Test func aDatabaseThatIsAttachedIsChecked() throws {
        let queue = try store.open()
        try queue.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    ATTACH DATABASE ':memory:' AS other KEY '';
                    CREATE TABLE other.positive(a CHECK (a > 0));
                    PRAGMA ignore_check_constraints = ON; INSERT INTO other.positive VALUES (-1);
                    PRAGMA ignore_check_constraints = OFF;
                    """
            )
        }
        #expect(try checks(in: queue).map(\.ok) == [false, true])
    }

    @Test func aFileThatHasTakenTheNameMeanwhileIsNotTheOneThatIsVerified() throws {
        let queue = try store.open()
        let good = try Data(contentsOf: URL(fileURLWithPath: store.path))
        try damage(.foreignKeys)
        try FileManager.default.moveItem(atPath: store.path, toPath: store.path + "-unsound")
        try good.write(to: URL(fileURLWithPath: store.path))
        #expect(try checks(in: queue).map(\.ok) == [true, false])
    }

    @Test func cancellationEndsBothConnections() throws {
        let cancellation = Cancellation()
        let queue = try store.open()
        let options = VerificationOptions(
            cancellation: cancellation,
            observer: { if $0 == .checkStarted(name: "quick_check") { cancellation.cancel() } }
        )
        #expect(throws: CancellationError.self) { try checks(in: queue, options) }
        // Nobody else has the file open: it can be had alone.
        try queue.writeWithoutTransaction { try $0.execute(sql: "BEGIN EXCLUSIVE; ROLLBACK") }
    }
}
