import GRDB
import KeyStore

/// Looks at a file that is no empty one, without changing it or anything beside it.
struct FileInspection {
    private let file: DatabaseFile
    private let header: [UInt8]
    private let size: Int

    init(_ file: DatabaseFile) throws {
        self.file = file
        do {
            let connection = try CipherConnection(immutable: file.absolutePath)
            size = try connection.fileSize()
            header = try connection.bytes(at: 0, count: SQLCipherFormat.saltCount)
        } catch {
            throw Self.cannotRead(file, error)
        }
    }

    /// Throws unless the file begins as every plaintext database does.
    /// <https://www.sqlite.org/fileformat.html#the_database_header>
    func checkPlaintext() throws {
        guard isPlaintext else {
            throw EncryptedDatabaseError.encrypted(path: file.path)
        }
    }

    /// The key that connections are to be given, derived over the file's salt.
    func derive(_ key: DatabaseKey) throws -> DatabaseKey {
        guard !isPlaintext else {
            throw EncryptedDatabaseError.plaintext(path: file.path)
        }
        return try key.derived(salt: header)
    }

    /// Whether the key decrypts the first page.
    func opens(with key: DatabaseKey) -> Bool {
        // A page that another process is writing at the moment reads as a damaged one.
        (0..<3).contains { _ in
            read("PRAGMA schema_version", key: key) != .notADatabase
        }
    }

    /// Tells why a file can't be opened.
    ///
    /// - Parameters:
    ///   - key: The key as it was given, which older formats derive otherwise.
    ///   - derivedKey: The key that was tried.
    ///   - error: How the opening failed; `nil` if the key didn't decrypt the first page.
    func explain(
        _ key: DatabaseKey,
        derivedKey: DatabaseKey,
        error: DatabaseError?
    ) throws -> EncryptedDatabaseError {
        EncryptedDatabaseError.wrongKey(path: file.path)
    }

    private var isPlaintext: Bool {
        header.elementsEqual("SQLite format 3\0".utf8)
    }

    private func read(_ sql: String, key: DatabaseKey) -> CipherCode {
        do {
            let connection = try CipherConnection(immutable: file.absolutePath)
            let code = connection.setKey(key)
            return code == .ok ? connection.run(sql) : code
        } catch {
            return error
        }
    }

    private static func cannotRead(_ file: DatabaseFile, _ code: CipherCode)
        -> EncryptedDatabaseError
    {
        EncryptedDatabaseError(
            DatabaseError(resultCode: ResultCode(rawValue: code.rawValue)),
            path: file.path
        )
            ?? .inputOutput(path: file.path, detail: "SQLite \(code.rawValue)")
    }
}
