import MigrationKitPages
import MigrationKitCommon
import Foundation
import GRDB
import KeyStore

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
        if options.readsIfUnwritable, try (file.size() ?? 0) > 1, try file.isUnwritable {
            return try read(connect)
        }
        let isNew = try createIfMissing()
        do {
            try file.checkAccess(forWriting: !options.isReadOnly)
            let made = try file.size() == 0 ? writeFirstPage() : nil
            let writer = try connectToContent(connect, made)
            guard !options.isReadOnly, try file.size() == 0 else { return writer }
            // Recovery has undone what a killed process began, and the file is empty: it has no
            // salt.
            try writer.close()
            return try connectToContent(connect, writeFirstPage())
        } catch {
            if isNew {
                file.removeIfEmpty()
            }
            throw error
        }
    }

    /// Opens a file for reading that can't be written, and leaves nothing beside it.
    private func read<Writer: DatabaseWriter>(
        _ connect: (String, Configuration) throws -> Writer
    ) throws -> Writer {
        var options = options
        (options.isReadOnly, options.readsIfUnwritable) = (true, false)
        if file.isReadableBesideOthers {
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

    private func createIfMissing() throws -> Bool {
        let creates = options.createsFile && !options.isReadOnly
        switch try file.size() {
        case nil where creates: return try file.create()
        case nil: throw EncryptedDatabaseError.noSuchFile(path: file.path)
        case 0 where !creates: throw EncryptedDatabaseError.empty(path: file.path)
        // SQLite treats a file of one byte as empty, and would overwrite it.
        case 1: throw EncryptedDatabaseError.notADatabase(path: file.path)
        default: return false
        }
    }

    /// Writes the first page of an empty file, which contains the salt.
    ///
    /// Without a first page, two processes that start on one new file would each use their own
    /// salt, and the second one's key would not open what the first one wrote. Here the second one
    /// finds the page under SQLite's lock, and uses its salt.
    ///
    /// - Returns: The salt and the key that was derived with it; `nil` without a key.
    private func writeFirstPage() throws -> (salt: [UInt8], key: DatabaseKey)? {
        var generator = SystemRandomNumberGenerator()
        let salt = (0..<CipherSettings.saltCount).map { _ in
            UInt8.random(in: .min ... .max, using: &generator)
        }
        let derivedKey = try key?.derived(salt: salt, cipher: options.cipher)
        let setup = ConnectionSetup(key: derivedKey, options: options)
        do {
            let queue = try DatabaseQueue(
                path: file.absolutePath,
                configuration: setup.configuration
            )
            try queue.inDatabase { db in
                // Taking the write lock gives an empty file its first page. The journal has no
                // pages, so SQLite synchronizes the same header twice. That is harmless: a file
                // gets its first page once.
                try db.execute(sql: "BEGIN IMMEDIATE; COMMIT")
            }
            try queue.close()
        } catch let error as DatabaseError where !setup.didHostThrow {
            guard error.resultCode == .SQLITE_NOTADB, try (file.size() ?? 0) > 0 else {
                throw EncryptedDatabaseError(error, path: file.path) ?? error
            }
        }
        return derivedKey.map { (salt, $0) }
    }

    /// - Parameter made: A salt and the key that was derived with it. If the file has that salt,
    ///   the key is not derived again.
    private func connectToContent<Writer: DatabaseWriter>(
        _ connect: (String, Configuration) throws -> Writer,
        _ made: (salt: [UInt8], key: DatabaseKey)?
    ) throws -> Writer {
        let inspection = try FileInspection(file, cipher: options.cipher)
        guard let key else {
            do {
                try inspection.checkPlaintext()
            } catch {
                return try connectToNewFile(connect) ?? { throw error }()
            }
            return try connectOnce(connect, key: nil) { inspection.explain($0) }
        }
        let derivedKey = try inspection.derive(key, made)
        // With a journal, opening for writing changes the file before the key is proven. If the
        // file is read in place, a wrong key would look like damage.
        let isProven =
            try file.hasJournal || unwritable != nil
            ? inspection.opens(with: derivedKey) : inspection.hasHeader(with: derivedKey)
        guard isProven else {
            return try connectToNewFile(connect)
                ?? { throw try inspection.explain(nil, key: key, derivedKey: derivedKey) }()
        }
        return try connectOnce(connect, key: derivedKey) {
            try inspection.explain($0, key: key, derivedKey: derivedKey)
        }
    }

    /// Starts over if a program was stopped before it had written the first page.
    ///
    /// - Returns: `nil` if the file isn't one of these.
    private func connectToNewFile<Writer: DatabaseWriter>(
        _ connect: (String, Configuration) throws -> Writer
    ) throws -> Writer? {
        guard try file.recoveredSize() == 0 else { return nil }
        guard options.createsFile, !options.isReadOnly else {
            throw EncryptedDatabaseError.empty(path: file.path)
        }
        // Perhaps the program wasn't stopped and is still writing.
        let writer = try Polling.value(within: options.busyTimeout) { () throws -> Writer? in
            guard try file.recoveredSize() == 0 else { return try connectToContent(connect, nil) }
            try file.settleJournals()
            guard try file.size() == 0 else { return nil }
            return try connectToContent(connect, writeFirstPage())
        }
        guard let writer else { throw EncryptedDatabaseError.locked(path: file.path) }
        return writer
    }

    private func connectOnce<Writer: DatabaseWriter>(
        _ connect: (String, Configuration) throws -> Writer,
        key: DatabaseKey?,
        explain: (DatabaseError) throws -> any Error
    ) throws -> Writer {
        // SQLite ignores a journal that it can't check, so an unreadable journal must throw here.
        _ = try file.hasHotJournal
        // Commits that a damaged log hides are lost when SQLite moves the log into the file. A
        // connection that only reads must not do that.
        var keepsLog = false
        do {
            try file.checkLog()
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
