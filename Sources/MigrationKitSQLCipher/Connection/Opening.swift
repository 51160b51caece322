import CSQLCipher
import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitCommon
import MigrationKitPages

/// One attempt to open a database: it checks first, and explains failures.
package struct Opening {
    private let file: DatabaseFile
    private let key: DatabaseKey?
    private let options: EncryptedDatabase.Options
    /// Set if the file is read in place.
    private let resting: RestingFile?
    /// Set if the file was created for this.
    private var created: CreatedFile?

    package init(
        path: String,
        key: DatabaseKey?,
        options: EncryptedDatabase.Options,
        resting: RestingFile? = nil
    ) {
        file = DatabaseFile(path)
        self.key = key
        self.options = options
        self.resting = resting
    }

    /// Opens the database with `connect`, which gets the absolute path and the configuration.
    package func run<Writer: DatabaseWriter>(
        _ connect: (String, Configuration) throws -> Writer
    ) throws -> Writer {
        guard key == nil || options.cipher.canBeSet else {
            throw EncryptedDatabaseError.otherSettings(path: file.path, cipher: options.cipher)
        }
        let look = try file.look()
        if options.purpose.refusesRecovery, try look.hasRollbackJournal { try checkIsSettled() }
        if options.purpose.onlyReads, look.size ?? 0 > 1, try look.isUnwritable {
            return try read(look, connect)
        }
        return try connectOrCreate(look, connect)
    }

    /// Throws if SQLite would undo an unfinished change on opening. A journal alone doesn't say so: another
    /// program may be writing. A connection that can't write finds out under SQLite's own lock.
    private func checkIsSettled() throws {
        try readOnly().connectOrCreate(file.look()) {
            try DatabaseQueue(path: $0, configuration: $1)
        }.close()
    }

    /// The same on a connection that can't write.
    private func readOnly(_ resting: RestingFile? = nil) -> Opening {
        var options = options
        options.isReadOnly = true
        return Opening(path: file.path, key: key, options: options, resting: resting)
    }

    private func connectOrCreate<Writer: DatabaseWriter>(
        _ look: FileLook,
        _ connect: (String, Configuration) throws -> Writer
    ) throws -> Writer {
        var look = look
        var opening = self
        opening.created = try createIfMissing(look)
        do {
            if look.size == nil { look = try file.look() }
            return try opening.connect(look, connect)
        } catch {
            if opening.created != nil {
                file.removeIfEmpty()
            }
            throw error
        }
    }

    private func connect<Writer: DatabaseWriter>(
        _ look: FileLook,
        _ connect: (String, Configuration) throws -> Writer
    ) throws -> Writer {
        try look.checkAccess(forWriting: !options.isReadOnly)
        guard look.size != 0 else { return try connectToEmptyFile(look, connect) }
        let writer = try connectToContent(look, connect)
        guard !options.isReadOnly, try look.hasRollbackJournal, try file.size() == 0 else {
            return writer
        }
        // Recovery has undone what a killed process began, and the file is empty: it has no
        // salt.
        try writer.close()
        return try connectToEmptyFile(look, connect)
    }

    /// Opens a file for reading that can't be written, and leaves nothing beside it.
    private func read<Writer: DatabaseWriter>(
        _ look: FileLook,
        _ connect: (String, Configuration) throws -> Writer
    ) throws -> Writer {
        if look.isReadableBesideOthers {
            do {
                return try readOnly().connectOrCreate(file.look(), connect)
            } catch EncryptedDatabaseError.readOnlyFolder {
                // The shared memory can't be read or is gone.
            }
        }
        let resting = try RestingFile(file) { Polling.value(within: options.busyTimeout, $0) }
        return try readOnly(resting).connectOrCreate(file.look(), connect)
    }

    private func createIfMissing(_ look: FileLook) throws -> CreatedFile? {
        try look.checkHasDatabase()
        let creates = options.createsFile && !options.isReadOnly
        switch look.size {
        case nil where creates: return try file.create()
        case nil: throw EncryptedDatabaseError.noSuchFile(path: file.path)
        case 0 where !creates: throw EncryptedDatabaseError.empty(path: file.path)
        // SQLite treats a file of one byte as empty, and would overwrite it.
        case 1: throw EncryptedDatabaseError.notADatabase(path: file.path)
        default: return nil
        }
    }

    /// Opens an empty file, and has the connection write the first page, which contains the salt.
    ///
    /// Without a first page, two processes that start on one new file would each use their own
    /// salt, and the second one's key would not open what the first one wrote. Here the second one
    /// finds the page under SQLite's lock, and uses its salt.
    private func connectToEmptyFile<Writer: DatabaseWriter>(
        _ look: FileLook,
        _ connect: (String, Configuration) throws -> Writer
    ) throws -> Writer {
        let salt = try key.map { try options.cipher.newSalt(for: $0) } ?? []
        let setup = ConnectionSetup(
            key: try key?.derived(salt: salt, cipher: options.cipher),
            options: options,
            created: created,
            writesFirstPage: true
        )
        do {
            return try openFile(look, setup, connect)
        } catch let error as DatabaseError {
            if error.resultCode == .SQLITE_NOTADB {
                let look = try file.look()
                if look.size ?? 0 > 0 { return try connectToContent(look, connect) }
            }
            if setup.didHostThrow { throw error }
            if linkTarget(look.pathWithoutLinks) != nil { throw CreatedFile.isReplaced(file) }
            throw EncryptedDatabaseError(error, path: file.path) ?? error
        }
    }

    private func connectToContent<Writer: DatabaseWriter>(
        _ look: FileLook,
        _ connect: (String, Configuration) throws -> Writer
    ) throws -> Writer {
        let inspection = try FileInspection(look, cipher: options.cipher)
        guard let key else {
            do {
                try inspection.checkPlaintext()
            } catch {
                return try connectToNewFile(connect) ?? { throw error }()
            }
            return try connectOnce(look, connect, key: nil) { inspection.explain($0) }
        }
        let derivedKey = try inspection.derive(key)
        // With a journal, opening for writing changes the file before the key is proven. If the
        // file is read in place, a wrong key would look like damage.
        let isProven =
            try look.hasJournal || resting != nil
            ? inspection.opens(with: derivedKey) : inspection.hasHeader(with: derivedKey)
        guard isProven else {
            return try connectToNewFile(connect)
                ?? { throw try inspection.explain(nil, key: key, derivedKey: derivedKey) }()
        }
        return try connectOnce(look, connect, key: derivedKey) {
            try inspection.explain($0, key: key, derivedKey: derivedKey)
        }
    }

    /// Starts over if a program was stopped before it had written the first page.
    ///
    /// - Returns: `nil` if the file isn't one of these.
    private func connectToNewFile<Writer: DatabaseWriter>(
        _ connect: (String, Configuration) throws -> Writer
    ) throws -> Writer? {
        guard try file.look().recoveredSize == 0 else { return nil }
        guard options.createsFile, !options.isReadOnly else {
            throw EncryptedDatabaseError.empty(path: file.path)
        }
        // Perhaps the program wasn't stopped and is still writing.
        let writer = try Polling.value(within: options.busyTimeout) { () throws -> Writer? in
            let look = try file.look()
            guard try look.recoveredSize == 0 else { return try connectToContent(look, connect) }
            try file.settleJournals()
            guard try file.size() == 0 else { return nil }
            return try connectToEmptyFile(look, connect)
        }
        guard let writer else { throw EncryptedDatabaseError.locked(path: file.path) }
        return writer
    }

    private func connectOnce<Writer: DatabaseWriter>(
        _ look: FileLook,
        _ connect: (String, Configuration) throws -> Writer,
        key: DatabaseKey?,
        explain: (DatabaseError) throws -> any Error
    ) throws -> Writer {
        try JournalOwnership(look, key: key, cipher: options.cipher).check()
        try look.checkJournal()
        // Commits that a damaged log hides are lost when SQLite moves the log into the file. A
        // connection that only reads must not do that.
        var keepsLog = try options.purpose.onlyReads && look.hasLog
        do {
            try look.checkLog()
        } catch EncryptedDatabaseError.damagedLog {
            keepsLog = true
        }
        let setup = ConnectionSetup(
            key: key,
            options: options,
            created: created,
            keepsLog: keepsLog,
            resting: resting
        )
        let writer: Writer
        do {
            writer = try openFile(look, setup, connect)
        } catch let error as DatabaseError where !setup.didHostThrow {
            throw try explain(error)
        }
        // The operating system allows writing, so the file's format must forbid it.
        if !options.isReadOnly, writer.writeWithoutTransaction(\.isMainReadOnly) {
            throw EncryptedDatabaseError.newerFormat(path: file.path)
        }
        return writer
    }

    /// Opens the file that was looked at. A link that others have put in its place meanwhile isn't followed.
    private func openFile<Writer: DatabaseWriter>(
        _ look: FileLook,
        _ setup: ConnectionSetup,
        _ connect: (String, Configuration) throws -> Writer
    ) throws -> Writer {
        let path = look.pathWithoutLinks
        return try TemporaryStorage.followingNoLink(at: path) {
            try connect(path, setup.configuration)
        }
    }
}
