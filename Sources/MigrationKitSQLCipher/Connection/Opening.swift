import MigrationKitPages
import MigrationKitCommon
import Foundation
import GRDB
import KeyStore

/// One attempt to open a database: looks before it opens, and explains what fails.
package struct Opening {
    private let file: DatabaseFile
    private let key: DatabaseKey?
    private let options: EncryptedDatabase.Options
    /// The file where it is read as it lies there.
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
            // Undoing what a killed process had begun left nothing, not even the salt.
            try writer.close()
            return try connectToContent(connect, writeFirstPage())
        } catch {
            if isNew {
                file.removeIfEmpty()
            }
            throw error
        }
    }

    /// Opens a file that can't be written for reading, and leaves nothing beside it.
    private func read<Writer: DatabaseWriter>(
        _ connect: (String, Configuration) throws -> Writer
    ) throws -> Writer {
        var options = options
        (options.isReadOnly, options.readsIfUnwritable) = (true, false)
        if file.isReadableBesideOthers {
            do {
                return try Opening(path: file.path, key: key, options: options).run(connect)
            } catch EncryptedDatabaseError.readOnlyFolder {
                // The shared memory can't be read, or is gone.
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
        // SQLite takes a file of one byte for an empty one, and would write over it.
        case 1: throw EncryptedDatabaseError.notADatabase(path: file.path)
        default: return false
        }
    }

    /// Writes the first page of an empty file, and with it the salt.
    ///
    /// Without a first page, two processes that start on one new file would each go on with a salt
    /// of their own, and the later one's key would not open what the earlier one wrote. Here the
    /// later one finds that out under SQLite's lock, and goes on with the salt that is there.
    ///
    /// - Returns: The salt, and the key that was derived over it; `nil` without a key.
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
                // Taking the lock for writing gives an empty file its first page. Its journal has
                // no pages, so that SQLite synchronizes the same header twice. It does so for every
                // journal, and a file has its first page once.
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

    /// - Parameter made: A salt and the key that was derived over it: if the file has that salt, it is
    ///   not derived again.
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
        // With a journal, opening for writing changes the file before the key is proven. What is
        // read as it lies there takes a wrong key for damage.
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

    /// Begins again with a file of which a program that was stopped has written less than the first
    /// page.
    ///
    /// - Returns: `nil` if it is no such file.
    private func connectToNewFile<Writer: DatabaseWriter>(
        _ connect: (String, Configuration) throws -> Writer
    ) throws -> Writer? {
        guard try file.recoveredSize() == 0 else { return nil }
        guard options.createsFile, !options.isReadOnly else {
            throw EncryptedDatabaseError.empty(path: file.path)
        }
        // Perhaps the program was not stopped, and is still writing.
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
        // To SQLite a journal that it can't look at is none.
        _ = try file.hasHotJournal
        // Commits that a damaged log hides from SQLite are lost when it is moved into the file. A
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
        // The operating system allows writing, so it is the file's own format that forbids it.
        if !options.isReadOnly, writer.writeWithoutTransaction(\.isMainReadOnly) {
            throw EncryptedDatabaseError.newerFormat(path: file.path)
        }
        return writer
    }
}
