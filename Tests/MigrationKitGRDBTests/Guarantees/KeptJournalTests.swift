import Foundation
import GRDB
import MigrationKit
import MigrationKitGRDB
import Synchronization
import TestSupport
import Testing

/// The rollback journal's file stays from one step to the next, and no longer.
@Suite struct KeptJournalTests {
    private let folder: TemporaryFolder
    private let queue: DatabaseQueue

    init() throws {
        folder = try TemporaryFolder()
        queue = try DatabaseQueue(path: folder.path("store.db"))
    }

    /// Runs two steps, the second of which may fail, and answers the modes that they see.
    private func modes(fails: Bool = false) throws -> [String] {
        let seen = Mutex<[String]>([])
        let steps = ["0001", "0002"].map { name in
            MigrationStep<Database>(
                identifier: name,
                sourceFile: #fileID,
                apply: { db in
                    let mode = try String.fetchOne(db, sql: "PRAGMA journal_mode") ?? ""
                    seen.withLock { $0.append(mode) }
                    try db.execute(sql: "CREATE TABLE t\(name)(a)")
                    if fails, name == "0002" { throw CocoaError(.featureUnsupported) }
                }
            )
        }
        let runner = try GRDBMigrationRunner(steps: steps)
        if fails {
            #expect(throws: (any Error).self) { try runner.migrate(in: queue) }
        } else {
            try runner.migrate(in: queue)
        }
        return seen.withLock { $0 }
    }

    private func mode() throws -> String? {
        try queue.inDatabase { try String.fetchOne($0, sql: "PRAGMA journal_mode") }
    }

    @Test(arguments: [false, true])
    func itIsRemovedWhenTheRunEnds(fails: Bool) throws {
        #expect(try modes(fails: fails) == ["persist", "persist"])
        #expect(try mode() == "delete")
        #expect(try !folder.names.contains("store.db-journal"))
    }

    @Test(arguments: ["truncate", "memory", "wal"])
    func theModeOfAHostStays(_ mode: String) throws {
        try queue.inDatabase { try $0.execute(sql: "PRAGMA journal_mode = \(mode)") }
        #expect(try modes() == [mode, mode])
        #expect(try self.mode() == mode)
    }
}
