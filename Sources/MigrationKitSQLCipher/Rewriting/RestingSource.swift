import CSQLCipher
import MigrationKitPages
import Foundation
import GRDB

/// A database that nobody writes, such as a backup. Reading it changes nothing and leaves nothing
/// beside it, even on a read-only medium.
final class RestingSource: PageSource {
    let file: DatabaseFile
    let form: DatabaseForm
    var owner: FileIdentity? { nil }

    private let byteCount: Int
    private let monitor: ConversionMonitor
    private let connection: CipherConnection
    private let stamp: [Int]
    /// Keeps out programs that write with a rollback journal, if the medium has locks.
    private let guardian: UnreadFile?

    /// Opens a database, and proves its key.
    ///
    /// - Parameter file: The database, with its links resolved.
    /// - Throws: ``EncryptedDatabaseError``.
    init(_ file: DatabaseFile, form: DatabaseForm, monitor: ConversionMonitor) throws {
        self.file = file
        self.form = form
        self.monitor = monitor
        switch try file.size() {
        case nil: throw EncryptedDatabaseError.noSuchFile(path: file.path)
        case 0: throw EncryptedDatabaseError.empty(path: file.path)
        case 1: throw EncryptedDatabaseError.notADatabase(path: file.path)
        default: break
        }
        try file.checkAccess(forWriting: false)
        guardian = try UnreadFile.guarding(file) {
            try monitor.waiting(
                for: { try FileIdentity.of(file.absolutePath)?.otherProcesses() ?? [] },
                $0
            )
        }
        try file.checkLog()
        stamp = try file.stamp
        let usesLog = try file.holdsCommits
        do {
            connection =
                usesLog
                ? try CipherConnection(readingLogOf: file.absolutePath)
                : try CipherConnection(immutable: file.absolutePath)
        } catch {
            throw EncryptedDatabaseError(error, path: file.path)
        }
        try Self.prove(form, on: connection, file, usesLog: usesLog)
        let pageCount = connection.number("PRAGMA page_count") ?? 0
        byteCount = pageCount * (connection.number("PRAGMA page_size") ?? 0)
    }

    /// - Throws: ``DatabaseConversionError/changedMeanwhile(path:)``, or what the copying throws.
    func fill(_ copy: DatabaseCopy, without unused: UnusedPages?) throws -> DatabaseQueue? {
        // Once a page has failed, its connection is of no use any more.
        let source =
            try unused == nil ? self : RestingSource(file, form: form, monitor: monitor)
        try source.fillPages(of: copy, without: unused)
        return nil
    }

    /// Fills the copy. Called once.
    func fillPages(of copy: DatabaseCopy, without unused: UnusedPages?) throws {
        do {
            try connection.withHandle { handle in
                if let unused, try !unused.leaveOut(on: handle) {
                    throw DatabaseCopy.PageFailure.source(.corrupt)
                }
                try copy.fillPages(from: handle, byteCount: byteCount)
            }
        } catch let error as DatabaseCopy.PageFailure {
            try checkUnchanged()
            throw error
        }
        try checkUnchanged()
    }

    private func checkUnchanged() throws {
        guard try file.stamp == stamp else {
            throw DatabaseConversionError.changedMeanwhile(path: file.path)
        }
    }

    private static func prove(
        _ form: DatabaseForm,
        on connection: borrowing CipherConnection,
        _ file: DatabaseFile,
        usesLog: Bool
    ) throws {
        let inspection = try FileInspection(file, cipher: form.cipher)
        let derivedKey = try form.key.map { try inspection.derive($0) }
        if let derivedKey {
            let code = connection.setKey(derivedKey, cipher: form.cipher)
            guard code == .ok else { throw EncryptedDatabaseError(code, path: file.path) }
        } else {
            try inspection.checkPlaintext()
        }
        if usesLog { connection.keepLogIndexInMemory() }
        let code = connection.run("BEGIN; SELECT count(*) FROM sqlite_schema")
        guard code != .ok else { return }
        let error = DatabaseError(
            resultCode: ResultCode(rawValue: code.rawValue),
            message: connection.message
        )
        guard let key = form.key, let derivedKey else { throw inspection.explain(error) }
        throw try inspection.explain(error, key: key, derivedKey: derivedKey)
    }
}
