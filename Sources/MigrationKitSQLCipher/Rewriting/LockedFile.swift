import MigrationKitCommon
import MigrationKitPages
import Foundation

/// A file that a new one replaces. As long as it is locked, nobody else reads or writes it.
protocol LockedFile {
    var file: DatabaseFile { get }
    var identity: FileIdentity { get }
    var monitor: ConversionMonitor { get }

    /// Gives the connection that holds SQLite's exclusive lock.
    func withConnection<Value>(_ body: (OpaquePointer?) throws -> Value) throws -> Value

    /// Lets go of the lock, waits until no other process has the file open, and locks it again.
    func holdAgain() throws

    /// Has everything that belongs to the database be in its file.
    func emptyJournals() throws

    /// Ends it, and frees the lock.
    func unlock() throws
}

/// Another process has changed the file while it wasn't locked, to let that process go on.
struct ChangedWhileWaiting: Error {}

extension LockedFile {
    /// Waits until no other process has the file open: one that has it so without a lock would go
    /// on writing to a file that has no name any more.
    ///
    /// A process that has it open may want to read or write before it ends, so that it isn't waited
    /// for under the lock.
    ///
    /// - Throws: ``ChangedWhileWaiting`` if it has changed since; it is locked again then.
    private func waitUntilUnused() throws {
        guard try !identity.otherProcesses().isEmpty else { return }
        // A change at the time of the last one isn't seen: the clock of files may stand still for
        // 10 ms, and some file systems count whole seconds, or two.
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
    func replace(by new: NewFile, keepingAs original: DatabaseFile?) throws {
        if let original { try keep(as: original) }
        let losesItsName: Bool
        do {
            try waitUntilUnused()
            guard let current = try FileIdentity.of(file.absolutePath),
                current.isSameFile(as: identity)
            else { throw DatabaseConversionError.replacedMeanwhile(path: file.path) }
            // By another name, such as a backup's that shares its files, it stays as it is.
            losesItsName = current.linkCount == 1
            // A cancellation from here on comes after the replacement.
            try monitor.checkCancellation()
            try removeJournals()
            try new.replace(file.absolutePath)
        } catch let error as NewFileError where error.isPlaced {
            // The old file may come back: it isn't made unreadable.
            try? unlock()
            throw error
        } catch {
            if let original { unlink(original.absolutePath) }
            throw error
        }
        if losesItsName { retire() }
        try unlock()
    }

    /// Copies the file as it is to a place that is free. What fails leaves nothing there.
    private func keep(as original: DatabaseFile) throws {
        let copy = try original.newFiles(forOriginalOf: file).make()
        defer { copy.remove() }
        try copy.write { try copyBytes(to: $0, of: copy.path) }
        try copy.finish(
            mode: identity.mode & 0o7777,
            owner: (user: identity.owner, group: identity.group)
        )
        do {
            // In the database's own folder the name reaches the disk when the journals are removed,
            // which comes before the database is replaced.
            try copy.place(
                at: original.absolutePath,
                synchronizes: try !original.isBeside(file)
            )
        } catch let error as NewFileError where error.isPlaced {
            unlink(original.absolutePath)
            throw NewFileError(error.path, error.code)
        }
    }

    /// Removes what SQLite keeps beside the file, all of it empty since the file was locked, and
    /// has that reach the disk: a new file of the same name must never find a journal that isn't its
    /// own.
    ///
    /// The folder is synchronized even if there was nothing to remove: the commit of another program
    /// may have removed a journal just before, and SQLite doesn't synchronize the folder after that.
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

    /// Makes the file unreadable, once another has its name.
    ///
    /// A program that opened the old file just before is waiting for the lock. It would go on with
    /// a file that no longer has a name, or with the new file's log. So the old header is
    /// overwritten, and the program finds no database. Best effort: a failure only loses that race.
    private func retire() {
        _ = try? withConnection { connection in
            try MainFile(of: connection).write([UInt8](repeating: 0, count: 512), at: 0)
        }
    }
}
