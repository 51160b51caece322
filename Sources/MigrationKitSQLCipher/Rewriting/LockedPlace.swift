import Foundation
import MigrationKitCommon
import MigrationKitPages

/// The file that a restored backup replaces, whatever is in it. It is locked, and not read.
final class LockedPlace: LockedFile {
    let file: DatabaseFile
    let identity: FileIdentity
    let monitor: ConversionMonitor

    private var held: KeylessConnection?
    /// Whether the log hides commits, which are lost when SQLite moves the log into the file.
    private let hidesCommits: Bool
    /// Whether the rollback journal would make the file longer than it ever was.
    private let hasWrongJournal: Bool

    /// Locks a file, and moves its journals into it. A damaged one is left alone until the file is
    /// replaced.
    ///
    /// - Parameters:
    ///   - file: The file, with its links resolved.
    ///   - isKept: Whether a copy of the file is kept. The copy must include the whole log.
    /// - Throws: ``EncryptedDatabaseError``; ``DatabaseConversionError``.
    init(_ file: DatabaseFile, isKept: Bool, monitor: ConversionMonitor) throws {
        self.file = file
        self.monitor = monitor
        let identity = try file.identityNotOpenHere()
        self.identity = identity
        do {
            try file.checkLog()
            hidesCommits = false
        } catch EncryptedDatabaseError.damagedLog where !isKept {
            hidesCommits = true
        }
        do {
            try file.checkJournal()
            hasWrongJournal = false
        } catch EncryptedDatabaseError.damaged where !isKept {
            hasWrongJournal = true
        }
        try hold(settlesJournals: settlesJournals)
    }

    private var settlesJournals: Bool { !hidesCommits && !hasWrongJournal }

    /// Reserves a path where there is no file but perhaps the journals of a deleted database.
    /// SQLite removes those when it opens an empty file. ``free()`` must be called at the end.
    ///
    /// - Throws: ``DatabaseConversionError/exists(path:)`` if another program was faster.
    convenience init(reserving file: DatabaseFile, monitor: ConversionMonitor) throws {
        guard try file.create() != nil else {
            throw DatabaseConversionError.exists(path: file.path)
        }
        do {
            try self.init(file, isKept: false, monitor: monitor)
            // Before it was locked, another program may have created a database in it.
            guard try file.size() == 0 else {
                throw DatabaseConversionError.exists(path: file.path)
            }
        } catch {
            Self.free(file)
            throw error
        }
    }

    /// Frees a path that was reserved, unless it has content by now.
    func free() {
        unlock()
        Self.free(file)
    }

    private static func free(_ file: DatabaseFile) {
        // Another program that has it open would go on with a file without a name.
        guard let identity = try? FileIdentity.of(file.absolutePath),
            (try? identity.otherProcesses().isEmpty) == true
        else { return }
        file.removeIfEmpty()
    }

    func withConnection<Value>(_ body: (OpaquePointer?) throws -> Value) throws -> Value {
        try body(held?.connection)
    }

    func holdAgain() throws {
        unlock()
        try hold(settlesJournals: settlesJournals)
    }

    func emptyJournals() throws {
        // They were emptied when the file was locked, and nobody could write since then.
        guard hidesCommits, !hasWrongJournal else { return }
        unlock()
        try hold(settlesJournals: true)
        guard try FileIdentity.of(file.absolutePath).map(identity.isSameFile) == true else {
            throw DatabaseConversionError.replacedMeanwhile(path: file.path)
        }
    }

    func unlock() {
        held = nil
    }

    // MARK: -

    /// Waits for others, then locks the file.
    private func hold(settlesJournals: Bool) throws {
        // A log that stays although nobody writes is one that SQLite can't use.
        var rest = 10
        held = try monitor.waitingUntilUnused(identity) {
            if let held = try Self.lock(file, settlesJournals: settlesJournals) { return held }
            rest -= 1
            guard
                try rest > 0 || !settlesJournals || !file.holdsCommits
                    || !identity.otherProcesses().isEmpty
            else { throw EncryptedDatabaseError.needsRecovery(path: file.path) }
            return nil
        }
        guard held != nil else {
            throw DatabaseConversionError.inUse(path: file.path, by: try identity.otherProcesses())
        }
    }

    /// - Returns: `nil` if others block it, or have written since its journals were moved into it.
    private static func lock(_ file: DatabaseFile, settlesJournals: Bool) throws
        -> KeylessConnection?
    {
        // Otherwise, for an instant, the old file would be there without its journals, or the new
        // one with the old one's.
        if settlesJournals, try file.look().hasJournalContent { try file.settleJournals() }
        let stamp = try file.stamp
        let held = try KeylessConnection(file.absolutePath, isReadOnly: false)
        guard try held.lockForWriting(), try file.stamp == stamp else { return nil }
        return try settlesJournals && file.holdsCommits ? nil : held
    }
}
