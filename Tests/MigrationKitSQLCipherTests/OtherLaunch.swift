import Foundation
import Glibc
import TestSupport
import Testing

/// Another process's first launch, as far as the lock beside the database shows it.
final class OtherLaunch: Sendable {
    private let descriptor: Int32
    private let watch: Int32

    /// - Parameter text: What the lock's file says about its holder.
    init(of folder: TemporaryFolder, saying text: String = "") throws {
        let path = folder.path("notes.db-launch.lock")
        try folder.write("notes.db-launch.lock", Data(text.utf8))
        descriptor = open(path, O_RDWR | O_CLOEXEC)
        try #require(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        watch = inotify_init1(Int32(O_CLOEXEC))
        try #require(inotify_add_watch(watch, path, UInt32(IN_OPEN)) >= 0)
    }

    deinit {
        close(watch)
    }

    /// Returns once somebody else has tried to get the lock.
    func awaitSecond() {
        var event = [UInt8](repeating: 0, count: 4096)
        while read(watch, &event, event.count) < 0, errno == EINTR {}
    }

    /// Ends as a process that is killed does: the lock is free, and its file is still there.
    func end() {
        close(descriptor)
    }
}
