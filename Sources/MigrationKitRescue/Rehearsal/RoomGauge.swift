import Foundation
import GRDB
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitPages
import MigrationKitSQLCipher

/// Measures how much room a run takes on the disk: at every event, before and after each commit, and
/// a hundred times a second.
///
/// A rollback journal is at its largest before the commit, a write-ahead log after it.
final class RoomGauge: Sendable {
    private struct State {
        var all = RehearsalReport.Room()
        var ofStep = RehearsalReport.Room()
        /// The size of the journal before the latest commit.
        var committing = 0
        var isOver = false
    }

    private let path: String
    private let byteCountBefore: Int
    private let state = Locked(State())

    /// - Parameters:
    ///   - path: The database.
    ///   - byteCountBefore: Its size before the run.
    init(_ path: String, byteCountBefore: Int) {
        self.path = path
        self.byteCountBefore = byteCountBefore
    }

    /// The most that was needed up to now.
    var room: RehearsalReport.Room { state.withLock(\.all) }

    /// The most since the step began.
    var roomOfStep: RehearsalReport.Room { state.withLock(\.ofStep) }

    /// Measures while `body` runs.
    func during<Value>(_ body: () throws -> Value) throws -> Value {
        let sampling = WorkAlongside { [self] in
            while !state.withLock(\.isOver) {
                measure()
                usleep(10_000)
            }
        }
        defer {
            state.withLock { $0.isOver = true }
            _ = sampling.result()
        }
        return try body()
    }

    func beginStep() {
        measure()
        state.withLock { $0.ofStep = RehearsalReport.Room() }
        measure()
    }

    /// - Parameter committed: What the journal had before the commit that has just been made.
    func measure(afterCommitOf committed: Int = 0) {
        let journal = max(journalByteCount, committed)
        let temporary = TemporaryStorage.byteCountOnDisk
        let growth = max(0, FileManager.default.size(of: path) - byteCountBefore)
        state.withLock {
            $0.all.add(journal, temporary, growth)
            $0.ofStep.add(journal, temporary, growth)
        }
    }

    private var journalByteCount: Int {
        NewFiles.journalSuffixes.reduce(0) { $0 + FileManager.default.size(of: path + $1) }
    }
}

extension RoomGauge: TransactionObserver {
    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
    func databaseDidChange(with event: DatabaseEvent) {}

    func databaseWillCommit() {
        measure()
        let journal = journalByteCount
        state.withLock { $0.committing = journal }
    }

    /// The journal goes only when the pages are in the file.
    func databaseDidCommit(_ db: Database) {
        measure(afterCommitOf: state.withLock(\.committing))
    }

    func databaseDidRollback(_ db: Database) { measure() }
}

extension RehearsalReport.Room {
    fileprivate mutating func add(_ journal: Int, _ temporary: Int, _ growth: Int) {
        journalByteCount = max(journalByteCount, journal)
        temporaryByteCount = max(temporaryByteCount, temporary)
        byteCount = max(byteCount, journal + temporary + growth)
    }
}
