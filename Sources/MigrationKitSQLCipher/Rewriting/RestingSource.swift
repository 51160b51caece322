import CSQLCipher
import MigrationKitPages
import Foundation
import GRDB
import MigrationKitKeys

/// A database that nobody writes, such as a backup. Reading it changes nothing and leaves nothing
/// beside it, even on a read-only medium.
final class RestingSource: RewriteSource, PageSource {
    let file: DatabaseFile
    let form: DatabaseForm
    var owner: FileIdentity? { nil }

    private let connection: CipherConnection
    private let resting: RestingFile
    /// The raw key.
    private let key: DatabaseKey?

    /// Opens a database, and proves its key.
    ///
    /// - Parameter file: The database, with its links resolved.
    /// - Throws: ``EncryptedDatabaseError``.
    init(_ file: DatabaseFile, form: DatabaseForm, monitor: ConversionMonitor) throws {
        self.file = file
        self.form = form
        let look = try file.look()
        switch look.size {
        case nil: throw EncryptedDatabaseError.noSuchFile(path: file.path)
        case 0: throw EncryptedDatabaseError.empty(path: file.path)
        case 1: throw EncryptedDatabaseError.notADatabase(path: file.path)
        default: break
        }
        try look.checkAccess(forWriting: false)
        resting = try RestingFile(file) {
            try monitor.waiting(
                for: { try FileIdentity.of(file.absolutePath)?.otherProcesses() ?? [] },
                $0
            )
        }
        try file.checkLog()
        do {
            connection =
                resting.usesLog
                ? try CipherConnection(readingLogOf: file.absolutePath)
                : try CipherConnection(immutable: file.absolutePath)
        } catch {
            throw EncryptedDatabaseError(error, path: file.path)
        }
        key = try Self.prove(form, on: connection, file, usesLog: resting.usesLog)
    }

    /// - Throws: ``DatabaseConversionError/changedMeanwhile(path:)``; what `body` throws.
    func withPages<Value>(
        without unused: UnusedPages?,
        _ body: (DatabasePages, DatabaseKey?) throws -> Value
    ) throws -> Value {
        do {
            let value = try connection.withHandle { handle in
                try body(
                    pages(of: handle, without: unused) { resting.usesLog ? try log() : nil },
                    key
                )
            }
            try checkUnchanged()
            return value
        } catch let error as PageRewritingError {
            try checkUnchanged()
            throw error
        }
    }

    /// Nobody writes the log, so SQLite sees all finished transactions in it.
    private func log() throws -> LogPages? {
        let path = file.resolvedPath + "-wal"
        let log = try RawFile.find(path).get().flatMap(WriteAheadLog.init)
        return try log.flatMap { try LogPages(path: path, pages: $0) }
    }

    private func checkUnchanged() throws {
        guard try !resting.wasWritten else {
            throw DatabaseConversionError.changedMeanwhile(path: file.path)
        }
    }

    /// - Returns: The raw key.
    private static func prove(
        _ form: DatabaseForm,
        on connection: borrowing CipherConnection,
        _ file: DatabaseFile,
        usesLog: Bool
    ) throws -> DatabaseKey? {
        let inspection = try FileInspection(file.look(), cipher: form.cipher)
        let derivedKey = try form.key.map { try inspection.derive($0) }
        if let key = form.key, let derivedKey {
            guard try inspection.opens(with: derivedKey) else {
                throw try inspection.explain(nil, key: key, derivedKey: derivedKey)
            }
            let code = connection.setKey(derivedKey, cipher: form.cipher)
            guard code == .ok else { throw EncryptedDatabaseError(code, path: file.path) }
        } else {
            try inspection.checkPlaintext()
        }
        try JournalOwnership(file.look(), key: derivedKey, cipher: form.cipher).check()
        if usesLog { connection.keepLogIndexInMemory() }
        let code = connection.run("BEGIN; SELECT count(*) FROM sqlite_schema")
        guard code != .ok else { return derivedKey }
        let error = DatabaseError(
            resultCode: ResultCode(rawValue: code.rawValue),
            message: connection.message
        )
        guard let key = form.key, let derivedKey else { throw inspection.explain(error) }
        throw try inspection.explain(error, key: key, derivedKey: derivedKey)
    }
}
