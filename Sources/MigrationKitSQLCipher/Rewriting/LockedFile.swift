import Foundation
import MigrationKitCommon
import MigrationKitPages

/// A file that a new one replaces. As long as it is locked, nobody else reads or writes it.
protocol LockedFile {
    var file: DatabaseFile { get }
    var identity: FileIdentity { get }
    var monitor: ConversionMonitor { get }

    /// Runs `body` with the connection that holds SQLite's exclusive lock.
    func withConnection<Value>(_ body: (OpaquePointer?) throws -> Value) throws -> Value

    /// Releases the lock, waits until no other process has the file open, and locks it again.
    func holdAgain() throws

    /// Moves the content of the journals into the file.
    func emptyJournals() throws

    /// Closes it, and releases the lock.
    func unlock() throws
}

extension LockedFile {
    /// Waits until no other process has the file open. A process that has it open without a lock
    /// would go on writing to a file that no longer has a name.
    ///
    /// The lock is released meanwhile, since such a process may want to read or write before it
    /// ends.
    ///
    /// - Throws: ``ChangedWhileWaiting`` if the file has changed since. It is locked again then.
    private func waitUntilUnused() throws {
        guard try !identity.otherProcesses().isEmpty else { return }
        // Two changes with the same timestamp look like one: the file clock may stand still for 10
        // ms, and some file systems count in whole seconds, or in steps of two.
        usleep(try file.status.st_mtim.tv_nsec == 0 ? 2_100_000 : 20_000)
        let stamp = try file.stampOfFile
        try holdAgain()
        guard try file.stampOfFile == stamp else { throw ChangedWhileWaiting() }
    }

    /// Puts a new file in the place of the database, and ends this. A process that ends anywhere in
    /// here leaves one or the other at the path, each without a journal.
    ///
    /// - Parameters:
    ///   - new: The new file, finished, in the same folder.
    ///   - original: Where the old file goes, which must be free; `nil` for nowhere.
    /// - Throws: ``ChangedWhileWaiting`` if others had to be waited for and have changed the file. It
    ///   stays in its place and locked.
    ///   ``DatabaseConversionError/oldFileInUse(path:by:)`` if the new file is in place.
    func replace(by new: NewFile, keepingAs original: DatabaseFile?) throws {
        if let original { try keep(as: original) }
        var failure: NewFileError?
        do {
            try waitUntilUnused()
            guard let current = try FileIdentity.of(file.absolutePath),
                current.isSameFile(as: identity)
            else { throw DatabaseConversionError.replacedMeanwhile(path: file.path) }
            // A later cancellation comes too late: the file is replaced.
            try monitor.checkCancellation()
            try removeJournals()
            try new.replace(file.absolutePath)
        } catch let error as NewFileError where error.isPlaced {
            failure = error
        } catch {
            if let original { unlink(original.absolutePath) }
            throw error
        }
        let users = try retire(mayComeBack: failure != nil)
        try unlock()
        if let failure { throw failure }
        guard users.isEmpty else {
            throw DatabaseConversionError.oldFileInUse(path: file.path, by: users)
        }
    }

    /// Copies the file unchanged to a free path. A failure leaves nothing there.
    private func keep(as original: DatabaseFile) throws {
        let copy = try original.newFiles(forOriginalOf: file).make()
        defer { copy.remove() }
        try copy.write { try copyBytes(to: $0, of: copy.shownPath) }
        try copy.finish(
            mode: identity.mode & 0o7777,
            owner: (user: identity.owner, group: identity.group)
        )
        try FileAttributes(of: file.absolutePath).give(to: copy)
        do {
            // In the database's own folder, removing the journals also synchronizes this name,
            // before the database is replaced.
            try copy.place(
                at: original.absolutePath,
                synchronizes: try !original.isBeside(file)
            )
        } catch let error as NewFileError where error.isPlaced {
            unlink(original.absolutePath)
            throw NewFileError(error.path, error.code)
        }
    }

    /// Removes the journals beside the file, which are empty since it was locked, and synchronizes
    /// that: a new file of the same name must never find another file's journal.
    ///
    /// The folder is synchronized even if there was nothing to remove: another program's commit may
    /// just have removed a journal, and SQLite doesn't synchronize the folder after that.
    private func removeJournals() throws {
        try emptyJournals()
        for suffix in DatabaseFile.journalSuffixes {
            let journal = file.absolutePath + suffix
            guard unlink(journal) == 0 || errno == ENOENT else {
                throw NewFileError(journal, errno)
            }
        }
        try NewFiles(for: file.absolutePath).synchronize()
    }

    /// Read by SQLite's own descriptor: closing another one would drop its locks.
    private func copyBytes(to descriptor: Int32, of path: String) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
        defer { buffer.deallocate() }
        try withConnection { connection in
            let source = try MainFile(of: connection)
            let byteCount = try source.size()
            for offset in stride(from: 0, to: byteCount, by: buffer.count) {
                try monitor.checkCancellation()
                let count = min(buffer.count, byteCount - offset)
                let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
                try source.read(into: part, at: offset)
                if let code = writeAll(UnsafeRawBufferPointer(part), to: descriptor) {
                    throw NewFileError(path, code)
                }
            }
        }
    }

    /// Keeps other programs from using the old file, once another has its name.
    ///
    /// A program that opened the old file just before is waiting for its lock. It would go on in the
    /// old file with the new one's journals: SQLite finds a journal by its name, and uses it
    /// whatever the old header says. So the lock is held until such programs have given up. In case
    /// one doesn't, the old header is overwritten, unless the file has another name, such as a hard
    /// link in a backup. Nobody can give it one any more once it has none. No log counts then, but a
    /// rollback journal does: it is played back into the old file, and deleted under its owner. A file
    /// that can still be read is locked for longer than programs usually wait, also on a busy machine.
    /// <https://www.sqlite.org/howtocorrupt.html#_unlinking_or_renaming_a_database_file_while_in_use>
    ///
    /// - Parameter mayComeBack: Whether a power cut may give the old file its name back.
    /// - Returns: The programs that haven't given up.
    private func retire(mayComeBack: Bool) throws -> [OpenProcess] {
        var isReadable = true
        if !mayComeBack, try identity.remainingNameCount == 0 {
            let header = [UInt8](repeating: 0, count: 512)
            isReadable =
                (try? withConnection { try MainFile(of: $0).write(header, at: 0) }) == nil
        }
        return try monitor.waitUntilForgotten(identity, atLeast: isReadable ? 300 : 0)
    }
}
