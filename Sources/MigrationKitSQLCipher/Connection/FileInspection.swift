import MigrationKitPages
import GRDB
import KeyStore

/// Inspects a file with content, without changing it or anything beside it.
package struct FileInspection {
    private let file: DatabaseFile
    private let cipher: CipherSettings
    private let header: [UInt8]
    private let size: Int

    /// - Parameter cipher: How the file is expected to be encrypted.
    package init(_ file: DatabaseFile, cipher: CipherSettings = .current) throws {
        self.file = file
        self.cipher = cipher
        do {
            let connection = try CipherConnection(immutable: file.absolutePath)
            size = try connection.fileSize()
            header = try connection.bytes(at: 0, count: 100)
        } catch {
            throw Self.cannotRead(file, error)
        }
    }

    /// Throws unless the file begins like a plaintext database, or will after recovery.
    func checkPlaintext() throws {
        guard !isPlaintext else { return }
        if case .firstPage(let page) = try Recovery(of: file),
            page.starts(with: DatabaseHeader.magic)
        {
            return
        }
        throw fitsPageSize
            ? EncryptedDatabaseError.encrypted(path: file.path)
            : EncryptedDatabaseError.notADatabase(path: file.path)
    }

    /// Throws if the file begins like a plaintext database.
    func checkEncrypted() throws {
        guard !isPlaintext else { throw EncryptedDatabaseError.plaintext(path: file.path) }
    }

    /// The key for the connections, derived with the file's salt.
    ///
    /// - Parameter made: A key that was already derived, with its salt.
    func derive(
        _ key: DatabaseKey,
        _ made: (salt: [UInt8], key: DatabaseKey)? = nil
    ) throws -> DatabaseKey {
        try checkEncrypted()
        if let made, made.salt == salt { return made.key }
        return try key.derived(salt: salt, cipher: cipher)
    }

    /// Whether the key decrypts the first page, either as it is or as SQLite will restore it.
    ///
    /// - Parameter key: A raw key.
    package func opens(with key: DatabaseKey) throws -> Bool {
        // A page that another process is just writing looks damaged.
        let opensNow = try (0..<3).contains { _ in
            try read(with: key, cipher: cipher) != .notADatabase
        }
        return try opensNow && hasHeader(with: key) || opensRecovered(with: key, cipher: cipher)
    }

    /// Whether the key decrypts the version of the first page that a journal beside the file holds.
    ///
    /// - Parameter key: A raw key.
    private func opensRecovered(with key: DatabaseKey, cipher: CipherSettings) throws -> Bool {
        // The salt is at the beginning of every version of that page.
        guard case .firstPage(let page) = try Recovery(of: file), page.starts(with: salt),
            page.count == cipher.pageSize
        else { return false }
        let form = try PageForm(key: key, salt: salt, cipher: cipher)
        return form.provesPages
            ? form.isIntact(page, number: 1)
            : DatabaseHeader(decrypting: page, key: key, cipher: cipher) != nil
    }

    /// Whether the first page begins like a database. An HMAC proves this before SQLite sees
    /// anything. Without one, a wrong key decrypts to nonsense. SQLite might read it as the mark of
    /// a write-ahead log, and create a log before it finds the error.
    ///
    /// > Payload fractions: must be 64, 32 and 32 (bytes 21 to 23).
    /// <https://www.sqlite.org/fileformat.html#payload_fractions>
    ///
    /// - Parameter key: A raw key.
    func hasHeader(with key: DatabaseKey) -> Bool {
        guard cipher.hmacAlgorithm == .off,
            let decryption = try? PageCipher(key: key, cipher: cipher)
        else { return true }
        // A page that another process is just writing looks like nonsense, too.
        return (0..<3).contains { _ in
            guard let connection = try? CipherConnection(immutable: file.absolutePath),
                let page = try? connection.bytes(at: 0, count: cipher.pageSize),
                let content = decryption.decrypt(page, number: 1)
            else { return true }
            return content[21...23] == [64, 32, 32]
        }
    }

    /// Finds out why a plaintext database can't be opened.
    func explain(_ error: DatabaseError) -> any Error {
        // > The "file format read version" at byte 19: a value greater than 2 can't be read.
        // <https://www.sqlite.org/fileformat.html#file_format_version_numbers>
        if error.resultCode == .SQLITE_NOTADB, header[19] > 2 {
            return EncryptedDatabaseError.newerFormat(path: file.path)
        }
        return explainSchema(error, damagedPages: []) ?? error
    }

    /// Finds out why an encrypted file can't be opened.
    ///
    /// - Parameters:
    ///   - error: How the opening failed; `nil` if the key didn't decrypt the first page.
    ///   - key: The key as it was given. Older formats derive other keys from it.
    ///   - derivedKey: The key that was tried.
    func explain(
        _ error: DatabaseError?,
        key: DatabaseKey,
        derivedKey: DatabaseKey
    ) throws -> any Error {
        if let error, error.resultCode != .SQLITE_NOTADB {
            let isDamaged = error.resultCode == .SQLITE_CORRUPT
            let pages = try isDamaged ? damagedPages(key: derivedKey) : []
            return explainSchema(error, damagedPages: pages) ?? error
        }
        switch try authenticPages(key: derivedKey) {
        case .first:
            // The key is right, but SQLite can't read the decrypted header.
            return EncryptedDatabaseError.newerFormat(path: file.path)
        case .others:
            let pages = try damagedPages(key: derivedKey)
            return EncryptedDatabaseError.damaged(path: file.path, pages: pages)
        case .none:
            return try explainForeignFile(key: key)
        }
    }

    // MARK: - Reasons

    private func explainSchema(
        _ error: DatabaseError,
        damagedPages: [Int]
    ) -> EncryptedDatabaseError? {
        let message = error.message ?? ""
        switch error.resultCode {
        case .SQLITE_ERROR where message == "unsupported file format":
            // This SQLite doesn't know the schema's format number.
            return .newerFormat(path: file.path)
        case .SQLITE_CORRUPT where damagedPages.isEmpty && message.hasPrefix("malformed database"):
            // Every page is intact, so the schema has SQL that this SQLite doesn't know.
            return .newerFormat(path: file.path)
        case .SQLITE_CORRUPT:
            return .damaged(path: file.path, pages: damagedPages)
        default:
            return EncryptedDatabaseError(error, path: file.path)
        }
    }

    private func explainForeignFile(key: DatabaseKey) throws -> EncryptedDatabaseError {
        for other in CipherSettings.versions where other != cipher {
            var opens = try decrypts(key, other)
            if !opens, case .firstPage = try Recovery(of: file) {
                let derived = try key.derived(salt: salt, cipher: other)
                opens = try opensRecovered(with: derived, cipher: other)
            }
            guard !opens else {
                return .olderFormat(path: file.path, cipherCompatibility: other.compatibility)
            }
        }
        guard fitsPageSize else { return .notADatabase(path: file.path) }
        return try isRawKey(key)
            ? .rawKeyAsPassphrase(path: file.path) : .wrongKey(path: file.path)
    }

    /// Whether a passphrase consists of the digits of a raw key that opens the file.
    private func isRawKey(_ key: DatabaseKey) throws -> Bool {
        guard key.form == .passphrase,
            let raw = try? DatabaseKey.rawKey(hexadecimal: key.secret)
        else { return false }
        return try ([cipher] + CipherSettings.versions).contains { try decrypts(raw, $0) }
    }

    /// Whether the key decrypts the first page with these settings, even if the rest of the file
    /// was cut off.
    private func decrypts(_ key: DatabaseKey, _ cipher: CipherSettings) throws -> Bool {
        let code = try read(with: key, cipher: cipher).primary
        return code == CipherCode.ok.primary || code == CipherCode.corrupt.primary
    }

    /// Whether the file's size is a multiple of 512, the smallest page size. All page sizes are
    /// powers of two. <https://www.sqlite.org/fileformat.html#page_size>
    private var fitsPageSize: Bool { size % 512 == 0 }

    private enum AuthenticPages {
        case none, first, others
    }

    private func authenticPages(key: DatabaseKey) throws -> AuthenticPages {
        guard
            let authentication = try PageAuthentication(key: key, salt: salt, cipher: cipher)
        else { return .none }
        let pageSize = cipher.pageSize
        let count = size / pageSize
        guard count > 0 else { return .none }
        do {
            let connection = try CipherConnection(immutable: file.absolutePath)
            for number in PageAuthentication.sample(ofPages: count) {
                let page = try connection.bytes(at: (number - 1) * pageSize, count: pageSize)
                if authentication.isAuthentic(page, number: number) {
                    return number == 1 ? .first : .others
                }
            }
            return .none
        } catch {
            throw Self.cannotRead(file, error)
        }
    }

    /// The damaged pages; none for a plaintext file.
    package func damagedPages(_ form: DatabaseForm, limit: Int = 100) throws -> [Int] {
        try form.key.map { try damagedPages(key: derive($0), limit: limit) } ?? []
    }

    private func damagedPages(key: DatabaseKey, limit: Int = 100) throws -> [Int] {
        do {
            let connection = try CipherConnection(immutable: file.absolutePath)
            return Array(try connection.damagedPages(key: key, cipher: cipher).prefix(limit))
        } catch let code as CipherCode {
            throw Self.cannotRead(file, code)
        }
    }

    // MARK: - Reading

    package var salt: [UInt8] { Array(header.prefix(CipherSettings.saltCount)) }

    /// Whether the file begins like a plaintext database.
    /// <https://www.sqlite.org/fileformat.html#magic_header_string>
    package var isPlaintext: Bool { header.starts(with: "SQLite format 3\0".utf8) }

    /// The result code of reading the first page.
    ///
    /// - Throws: An ``EncryptedDatabaseError`` if the file can't be opened or read now: that says
    ///   nothing about the key.
    private func read(with key: DatabaseKey, cipher: CipherSettings) throws -> CipherCode {
        let code: CipherCode
        do {
            let connection = try CipherConnection(immutable: file.absolutePath)
            let result = connection.setKey(key, cipher: cipher)
            code = result == .ok ? connection.run("PRAGMA schema_version") : result
        } catch {
            code = error
        }
        guard !code.isReadFailure else { throw Self.cannotRead(file, code) }
        return code
    }

    package static func cannotRead(_ file: DatabaseFile, _ code: CipherCode)
        -> EncryptedDatabaseError
    {
        EncryptedDatabaseError(code, path: file.path)
    }
}
