import Dispatch
import MigrationKitCommon
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct FileLockTests {
    private let folder: TemporaryFolder
    private let lock: FileLock

    init() throws {
        folder = try TemporaryFolder()
        lock = FileLock(beside: folder.path("notes.db"), suffix: ".lock")
    }

    /// Each holder removes the file, so that others come by with one that is gone. They don't wait,
    /// and so come by often.
    @Test func nobodyHoldsItBesideAnother() throws {
        let held = Atomic(0)
        let others = Atomic(0)
        let lock = lock
        let work = Background {
            let failure = Mutex<(any Error)?>(nil)
            DispatchQueue.concurrentPerform(iterations: 4) { _ in
                var rounds = 0
                while rounds < 2000 {
                    do {
                        try lock.withLock(timeout: 0) {
                            others.add(held.add(1, ordering: .relaxed).oldValue, ordering: .relaxed)
                            sched_yield()
                            held.subtract(1, ordering: .relaxed)
                        }
                        rounds += 1
                    } catch FileLock.Failure.held {
                        sched_yield()
                    } catch {
                        failure.withLock { $0 = error }
                        return
                    }
                }
            }
            if let error = failure.withLock({ $0 }) { throw error }
            return others.load(ordering: .relaxed)
        }
        #expect(try work.value() == 0)
        #expect(try folder.names == [])
    }

    @Test func whetherItIsHeldIsSeenWithoutTakingIt() throws {
        #expect(!lock.isHeld)
        #expect(try folder.names == [])
        let held = try #require(try lock.hold())
        #expect(lock.isHeld)
        #expect(lock.isHeld)
        held.release()
        #expect(!lock.isHeld)
        // A holder that was killed leaves the file.
        try folder.write("notes.db.lock", "4711\n".utf8)
        #expect(!lock.isHeld)
        #expect(try folder.names == ["notes.db.lock"])
    }

    @Test func itIsFreedWhenTheBodyThrows() throws {
        struct Thrown: Error, Equatable {}
        let body: () throws -> Void = { throw Thrown() }
        #expect(throws: Thrown()) { try lock.withLock(timeout: 0, body) }
        #expect(try lock.withLock(timeout: 0) { 7 } == 7)
    }

    @Test func itIsNotTakenTwiceInOneProcess() throws {
        try lock.withLock(timeout: 0) { () -> Void in
            #expect(throws: FileLock.Failure.held(processIdentifier: getpid())) {
                try lock.withLock(timeout: 0) {}
            }
        }
    }

    @Test(arguments: [-1, .infinity, -.infinity, 1e300] as [TimeInterval])
    func anyTimeoutWillDo(timeout: TimeInterval) throws {
        #expect(try lock.withLock(timeout: timeout) { 7 } == 7)
    }

    @Test func aFileThatIsNotThereForItIsNotFollowed() throws {
        try FileManager.default.createSymbolicLink(
            atPath: lock.path,
            withDestinationPath: folder.path("elsewhere")
        )
        #expect(throws: FileLock.Failure.refused(code: ELOOP)) { try lock.withLock(timeout: 0) {} }
        #expect(try folder.names == ["notes.db.lock"])
    }

    /// Another user of the folder may have made it there, to have the other file written over.
    @Test func aHardLinkToAnotherFileIsLeftAsItIs() throws {
        let victim = try folder.write("victim", "somebody's words".utf8, mode: 0o644)
        #expect(link(victim, lock.path) == 0)
        #expect(throws: FileLock.Failure.refused(code: EMLINK)) { try lock.withLock(timeout: 0) {} }
        #expect(try folder.data("victim") == Data("somebody's words".utf8))
        #expect(folder.mode("victim") == 0o644)
        #expect(try folder.names == ["notes.db.lock", "victim"])
    }

    /// Somebody removed the file of a lock that is held, so that another process could take it, too.
    @Test func anothersLockIsNotRemoved() throws {
        let held = try #require(try lock.hold())
        unlink(lock.path)
        let others = try #require(try lock.hold())
        held.release()
        #expect(lock.isHeld)
        others.release()
        #expect(try folder.names == [])
    }

    @Test(.enabled(if: geteuid() == 0)) func aFileOfAnotherUserNamesThatUser() throws {
        try folder.write("notes.db.lock", "4711\n".utf8)
        #expect(chown(lock.path, 1, 1) == 0)
        let reason = FileLock.Failure.reason(for: EACCES, at: lock.path)
        #expect(reason == "it belongs to daemon; remove it unless a process of theirs is at work")
        #expect(chown(lock.path, 0, 0) == 0)
        #expect(FileLock.Failure.reason(for: EACCES, at: lock.path) == "permission denied")
    }

    @Test func aNamedPipeIsNoLock() throws {
        #expect(mkfifo(lock.path, 0o600) == 0)
        #expect(throws: FileLock.Failure.refused(code: EEXIST)) { try lock.withLock(timeout: 0) {} }
        #expect(try folder.names == ["notes.db.lock"])
    }

    /// In a shared folder, others can give another file of the user's the lock's name.
    @Test func aFileWithContentIsNoLockFile() throws {
        try folder.write("notes.db.lock", "what was written in a year".utf8)
        #expect(throws: FileLock.Failure.refused(code: EEXIST)) { try lock.hold() }
        #expect(try folder.data("notes.db.lock") == Data("what was written in a year".utf8))
    }
}
