import MigrationKitCommon
import Foundation
import GRDB
import MigrationKitSQLCipher

/// A database that is made beside its place, and put there once it is whole: nobody meets it before,
/// and what fails leaves nothing. What a process that was killed has left, the next one removes.
final class NewDatabase {
    private let path: String

    /// Where it is made.
    let draft: String

    /// Held as long as the draft is somebody's.
    private var claim: FileLock.Held?

    /// - Parameter path: Where the database is to be.
    /// - Throws: ``SchemaCommandError/databaseExists(path:)``; an `EncryptedDatabaseError` if
    ///   nothing can be created there.
    init(at path: String) throws {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        guard faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0 else {
            throw Self.cannotCreate(path, errno)
        }
        Self.removeLeftovers(of: path)
        guard !Self.exists(path) else { throw SchemaCommandError.databaseExists(path: path) }
        self.path = path
        do {
            (draft, claim) = try Self.claim(path)
        } catch FileLock.Failure.refused(let code) {
            throw Self.cannotCreate(path, code)
        }
    }

    /// Checks that the file was made where it was to be.
    ///
    /// - Throws: ``SchemaCommandError/opensAnotherFile``; an `EncryptedDatabaseError`.
    func checkIsThere() throws {
        guard access(draft, F_OK) != 0 else { return }
        switch errno {
        case ENOENT: throw SchemaCommandError.opensAnotherFile
        case let code:
            throw EncryptedDatabaseError.inputOutput(
                path: draft,
                detail: POSIXError(errno: code).reason
            )
        }
    }

    /// Closes the database and puts it to its place, unless somebody else has put a file there.
    ///
    /// Its content is on the disk since the last commit, which the runner made durable. The earlier
    /// commits were synchronized as well, which a draft doesn't need: to spare them, the runner
    /// would have to know of drafts, for a small file that is made once.
    ///
    /// - Throws: ``SchemaCommandError/databaseExists(path:)``; an `EncryptedDatabaseError`;
    ///   `DatabaseConversionError.notSynced`.
    func publish(_ writer: any DatabaseWriter) throws {
        // What a write-ahead log holds belongs into the file before that goes elsewhere.
        try writer.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
        }
        try writer.close()
        switch FreeName.give(path, to: draft) {
        case 0: break
        case EEXIST: throw SchemaCommandError.databaseExists(path: path)
        case let code: throw Self.cannotCreate(path, code)
        }
        discard()
        try syncFolder()
    }

    /// Removes the draft, and what SQLite has kept beside it.
    func discard() {
        guard let claim else { return }
        for ending in Self.endings { unlink(draft + ending) }
        claim.release()
        self.claim = nil
    }

    // MARK: - Drafts

    private static let infix = "-loading-"
    private static let lockSuffix = ".lock"

    /// The draft, and what stands beside it while it is worked on.
    private static let endings = ["", "-journal", "-wal", "-shm", "-migration.lock"]

    private static func lock(of draft: String) -> FileLock {
        FileLock(beside: draft, suffix: lockSuffix)
    }

    /// Finds a name for a draft that nobody else has.
    private static func claim(_ path: String) throws -> (draft: String, claim: FileLock.Held) {
        while true {
            let number = String(UInt32.random(in: .min ... .max), radix: 16)
            let draft = path + infix + number
            guard !exists(draft), let claim = try lock(of: draft).hold() else { continue }
            return (draft, claim)
        }
    }

    /// Removes the drafts of this database whose processes are gone. Best effort: they are in
    /// nobody's way.
    private static func removeLeftovers(of path: String) {
        let url = URL(fileURLWithPath: path)
        let folder = url.deletingLastPathComponent()
        let prefix = url.lastPathComponent + infix
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path)
        let drafts = (names ?? []).compactMap { name -> String? in
            guard name.hasPrefix(prefix) else { return nil }
            let number = name.dropFirst(prefix.count).prefix { $0.isHexDigit }
            let rest = name.dropFirst(prefix.count + number.count)
            guard !number.isEmpty, (endings + [lockSuffix]).contains(String(rest)) else {
                return nil
            }
            return folder.appendingPathComponent(prefix + number).path
        }
        for draft in Set(drafts) {
            guard let claim = try? lock(of: draft).hold() else { continue }
            for ending in endings { unlink(draft + ending) }
            claim.release()
        }
    }

    private static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    private static func cannotCreate(_ path: String, _ code: Int32) -> EncryptedDatabaseError {
        let isMissing = code == ENOENT || code == ENOTDIR
        return .cannotCreate(
            path: path,
            reason: isMissing
                ? "its folder does not exist" : POSIXError(errno: code).reason
        )
    }

    /// Has the disk keep the new name.
    ///
    /// - Throws: `DatabaseConversionError.notSynced`: a power cut may leave the draft instead.
    private func syncFolder() throws {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        let code = WholeFile.synchronize(folder)
        guard code == 0 else { throw DatabaseConversionError.notSynced(path: path, code: code) }
    }
}
