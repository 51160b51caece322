import CSQLCipher
import Foundation
import GRDB
import KeyStore
import MigrationKitCommon
import MigrationKitPages

/// One attempt to open a database: it checks first, and explains failures.
package struct Opening {
    private let file: DatabaseFile
    private let key: DatabaseKey?
    private let options: EncryptedDatabase.Options
    /// Set if the file can't be written and is read in place.
    private let unwritable: UnwritableFile?

    package init(
        path: String,
        key: DatabaseKey?,
        options: EncryptedDatabase.Options,
        unwritable: UnwritableFile? = nil
    ) {
        file = DatabaseFile(path)
        self.key = key
        self.options = options
        self.unwritable = unwritable
    }

    /// Opens the database with `connect`, which gets the absolute path and the configuration.
    package func run<Writer: DatabaseWriter>(
        _ connect: (String, Configuration) throws -> Writer
    ) throws -> Writer {
        var look = try file.look()
        if options.isForReading, look.size ?? 0 > 1, try look.isUnwritable {
            return try read(look, connect)
        }
        let isNew = try createIfMissing(look)
        do {
            if look.size == nil { look = try file.look() }
            try look.checkAccess(forWriting: !options.isReadOnly)
            guard look.size != 0 else { return try connectToEmptyFile(connect) }
            let writer = try connectToContent(look, connect)
            guard !options.isReadOnly, try look.hasRollbackJournal, try file.size() == 0 else {
                return writer
            }
            // Recovery has undone what a killed process began, and the file is empty: it has no
            // salt.
            try writer.close()
            return try connectToEmptyFile(connect)
        } catch {
            if isNew {
                file.removeIfEmpty()
            }
            throw error
        }
    }

    /// Opens a file for reading that can't be written, and leaves nothing beside it.
    private func read<Writer: DatabaseWriter>(
        _ look: FileLook,
        _ connect: (String, Configuration) throws -> Writer
    ) throws -> Writer {
        var options = options
        (options.isReadOnly, options.isForReading) = (true, false)
        if look.isReadableBesideOthers {
            do {
                return try Opening(path: file.path, key: key, options: options).run(connect)
            } catch EncryptedDatabaseError.readOnlyFolder {
                // The shared memory can't be read or is gone.
            }
        }
        let unwritable = try UnwritableFile(file, timeout: options.busyTimeout)
        return try Opening(path: file.path, key: key, options: options, unwritable: unwritable)
            .run(connect)
    }

    private func createIfMissing(_ look: FileLook) throws -> Bool {
        let creates = options.createsFile && !options.isReadOnly
        switch look.size {
        case nil where creates: return try file.create()
        case nil: throw EncryptedDatabaseError.noSuchFile(path: file.path)
        case 0 where !creates: throw EncryptedDatabaseError.empty(path: file.path)
        // SQLite treats a file of one byte as empty, and would overwrite it.
        case 1: throw EncryptedDatabaseError.notADatabase(path: file.path)
        default: return false
        }
    }

    /// Opens an empty file, and has the connection write the first page, which contains the salt.
    ///
    /// Without a first page, two processes that start on one new file would each use their own
    /// salt, and the second one's key would not open what the first one wrote. Here the second one
    /// finds the page under SQLite's lock, and uses its salt.
    private func connectToEmptyFile<Writer: DatabaseWriter>(
        _ connect: (String, Configuration) throws -> Writer
    ) throws -> Writer {
        let salt = try key.map { try options.cipher.newSalt(for: $0) } ?? []
        let setup = ConnectionSetup(
            key: try key?.derived(salt: salt, cipher: options.cipher),
            options: options,
            writesFirstPage: true
        )
        do {
            return try connect(file.absolutePath, setup.configuration)
        } catch let error as DatabaseError {
            if error.resultCode == .SQLITE_NOTADB {
                let look = try file.look()
                if look.size ?? 0 > 0 { return try connectToContent(look, connect) }
            }
            if setup.didHostThrow { throw error }
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
            try look.hasJournal || unwritable != nil
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
            return try connectToEmptyFile(connect)
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
        try look.checkJournal()
        // Commits that a damaged log hides are lost when SQLite moves the log into the file. A
        // connection that only reads must not do that.
        var keepsLog = try options.isForReading && look.hasLog
        do {
            try look.checkLog()
        } catch EncryptedDatabaseError.damagedLog {
            keepsLog = true
        }
        let setup = ConnectionSetup(
            key: key,
            options: options,
            keepsLog: keepsLog,
            unwritable: unwritable
        )
        let writer: Writer
        do {
            writer = try connect(file.absolutePath, setup.configuration)
        } catch let error as DatabaseError where !setup.didHostThrow {
            throw try explain(error)
        }
        // The operating system allows writing, so the file's format must forbid it.
        if !options.isReadOnly, writer.writeWithoutTransaction(\.isMainReadOnly) {
            throw EncryptedDatabaseError.newerFormat(path: file.path)
        }
        return writer
    }
}

// MARK: - Recovery

/// What happens to a database's first page when SQLite next opens the file, because a program was
/// stopped in the middle of a change.
///
/// A power cut may tear that page, and then no key opens it. The intact page is in the journal
/// beside the file, and SQLite will restore it, whatever the key. So the key is tested on this page
/// before SQLite opens the file.
package enum Recovery {
    /// It stays as it is.
    case nothing
    /// It is replaced by this one.
    case firstPage([UInt8])
    /// It is removed: the file was new, and becomes empty again.
    case emptyFile

    /// Examines the files beside a database, and changes nothing.
    ///
    /// - Throws: ``EncryptedDatabaseError`` if one of them can't be read.
    package init(by look: FileLook) throws {
        func journal(_ suffix: String) throws -> UntouchedFile? {
            try UntouchedFile.find(look.file.resolvedPath + suffix).get()
        }
        if try look.hasRollbackJournal, let journal = try journal("-journal"),
            let found = try Self.undoing(journal)
        {
            self = found
            return
        }
        if try look.hasLog, let log = try journal("-wal"),
            let page = try WriteAheadLog(log)?.firstPage(in: log)
        {
            self = .firstPage(page)
            return
        }
        self = .nothing
    }

    /// The first eight bytes of the rollback journal of an unfinished change.
    /// <https://www.sqlite.org/fileformat.html#the_rollback_journal>
    static let journalMagic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]

    /// - Returns: `nil` if the journal belongs to a finished change.
    private static func undoing(_ journal: UntouchedFile) throws -> Recovery? {
        // The journal of a transaction over several databases ends with another file's name, and is
        // ignored if that file is missing. This case is left to SQLite.
        let end = try journal.read(at: journal.size - 8, count: 8)
        guard journal.size < 512 || end != journalMagic else { return .nothing }
        var start = 0
        while let header = try journal.read(at: start, count: 28), header.starts(with: journalMagic)
        {
            if start == 0, header.word(16) == 0 { return .emptyFile }
            let (sector, pageSize) = (Int(header.word(20)), Int(header.word(24)))
            guard (32...65536).contains(sector), (512...65536).contains(pageSize) else { break }
            let recordSize = pageSize + 8
            let rest = max(0, journal.size - start - sector) / recordSize
            let count = header.word(8) == .max ? rest : min(rest, Int(header.word(8)))
            for index in 0..<count {
                let offset = start + sector + index * recordSize
                guard let record = try journal.read(at: offset, count: recordSize) else { break }
                let sum = stride(from: pageSize - 200, to: 0, by: -200)
                    .reduce(header.word(12)) { $0 &+ UInt32(record[4 + $1]) }
                // SQLite undoes nothing after this record.
                guard sum == record.word(4 + pageSize) else { return .nothing }
                if record.word(0) == 1 { return .firstPage(Array(record[4..<(4 + pageSize)])) }
            }
            start += sector + count * recordSize
            start = (start + sector - 1) / sector * sector
        }
        return start == 0 ? nil : .nothing
    }
}

extension DatabaseFile {
    /// Lets SQLite finish what a killed program began, without a key: it undoes an unfinished
    /// change, or moves a write-ahead log into the file, page by page and without decrypting them.
    /// A connection without a key then finds that the first page isn't a database's, but by then
    /// that is done.
    ///
    /// - Throws: ``EncryptedDatabaseError`` if the log can't be read; a ``CipherCode``.
    func settleJournals() throws {
        try checkSuperJournal()
        let log = try UntouchedFile.find(resolvedPath + "-wal").get()
        let pageSize = try log.flatMap(WriteAheadLog.init)?.pageSize
        let file = try UnreadFile(absolutePath, isReadOnly: false)
        for sql in [
            "PRAGMA locking_mode = EXCLUSIVE",
            // A log is moved only by a connection that expects pages of the same size.
            pageSize.map { "PRAGMA page_size = \($0)" },
            "SELECT count(*) FROM sqlite_schema",
        ] {
            sqlite3_exec(file.connection, sql, nil, nil, nil)
        }
    }
}

// MARK: - Unwritable File

/// A database that this process can't write, because of its mode or its medium. It is read in
/// place, and nothing is left beside it.
///
/// SQLite itself can't do that with a file in WAL mode: it creates a log and shared memory, or
/// gives up if it can't. <https://www.sqlite.org/wal.html#read_only_databases> SQLite's option
/// `immutable` is part of a URI, which GRDB doesn't support.
///
/// Other processes may be allowed to write. A lock keeps out those that use a rollback journal. Any
/// other write is noticed, and ends the reading with `SQLITE_BUSY`.
package final class UnwritableFile: @unchecked Sendable {
    // `@unchecked`: everything is constant. The connection of `guardian`, which isn't Sendable,
    // only keeps its lock: nothing calls it after `init`.

    /// Whether there is a write-ahead log with commits. They are read, too.
    package let usesLog: Bool

    private let file: DatabaseFile
    private let stamp: [Int]
    private let guardian: UnreadFile?

    /// - Parameter timeout: How long to wait for another process that writes, in seconds.
    /// - Throws: ``EncryptedDatabaseError/locked(path:)``;
    ///   ``EncryptedDatabaseError/needsRecovery(path:)``.
    init(_ file: DatabaseFile, timeout: TimeInterval) throws {
        self.file = file
        guardian = try UnreadFile.guarding(file) { Polling.value(within: timeout, $0) }
        stamp = try file.stamp
        usesLog = try file.holdsCommits
    }

    /// Whether a connection is one to this file. A new database may be opened like it.
    func isFile(of db: Database) -> Bool { db.filePath == file.resolvedPath }

    /// Whether nobody has written the file or its log since.
    var isUnchanged: Bool { (try? file.stamp) == stamp }

    /// Makes a connection read the file in place. Call it before the connection's first read. It
    /// applies until the connection is closed.
    package func prepare(_ connection: OpaquePointer?) throws {
        try UnchangedFile(hidesLog: !usesLog) { self.isUnchanged }.attach(to: connection)
    }
}
