import MigrationKitPages
import GRDB
import MigrationKitKeys

/// Inspects a file with content, without changing it or anything beside it.
package struct FileInspection {
    private let look: FileLook
    private let cipher: CipherSettings
    /// The first page, and more if the file's kind depends on it. Bytes past its end are zero.
    private let start: [UInt8]
    private let size: Int

    private var file: DatabaseFile { look.file }

    /// - Parameter cipher: How the file is expected to be encrypted.
    package init(_ look: FileLook, cipher: CipherSettings = .current) throws {
        self.look = look
        self.cipher = cipher
        do {
            let connection = try CipherConnection(immutable: look.file.absolutePath)
            size = try connection.fileSize()
            start = try connection.bytes(at: 0, count: max(FileBeginning.count, cipher.pageSize))
        } catch {
            throw Self.cannotRead(look.file, error)
        }
    }

    /// Throws unless the file begins like a plaintext database, or will after recovery.
    func checkPlaintext() throws {
        guard !isPlaintext else { return }
        if hasPlaintextHeader {
            throw EncryptedDatabaseError.plaintextHeader(path: file.path, size: nil)
        }
        if case .firstPage(let page) = try Recovery(by: file.look()),
            page.starts(with: DatabaseHeader.magic)
        {
            return
        }
        throw fitsPageSize
            ? EncryptedDatabaseError.encrypted(path: file.path)
            : EncryptedDatabaseError.notADatabase(path: file.path)
    }

    /// Throws if the file begins like a plaintext database, or its header isn't as the settings say.
    func checkEncrypted() throws {
        guard cipher.hasPlaintextHeader else {
            if hasPlaintextHeader {
                throw EncryptedDatabaseError.plaintextHeader(path: file.path, size: nil)
            }
            guard !isPlaintext else { throw EncryptedDatabaseError.plaintext(path: file.path) }
            return
        }
        guard try start.starts(with: DatabaseHeader.magic) || isRecovered() else {
            throw EncryptedDatabaseError.plaintextHeader(path: file.path, size: 0)
        }
        // A damaged first page may look like anything.
        guard !FileBeginning.isCertainlyPlaintext(start) else {
            throw EncryptedDatabaseError.plaintext(path: file.path)
        }
    }

    /// Whether a journal beside the file brings back its plaintext header, or the empty file that it
    /// was.
    private func isRecovered() throws -> Bool {
        let look = try file.look()
        return switch try Recovery(by: look) {
        case .firstPage(let page): page.starts(with: DatabaseHeader.magic)
        default: try look.recoveredSize == 0
        }
    }

    /// The key for the connections, derived with the file's salt.
    func derive(_ key: DatabaseKey) throws -> DatabaseKey {
        try checkEncrypted()
        return try key.derived(salt: try salt(with: key), cipher: cipher)
    }

    /// Whether the key decrypts the first page, as SQLite will read it.
    ///
    /// - Parameter key: A raw key.
    package func opens(with key: DatabaseKey) throws -> Bool {
        try proves(key) { _ in try read(with: key, cipher: cipher) != .notADatabase }
    }

    /// Whether the first page as SQLite will read it shows that the key is right.
    ///
    /// - Parameter attempt: Reads the page in the file. It gets how often it was called before.
    private func proves(_ key: DatabaseKey, _ attempt: (Int) throws -> Bool) throws -> Bool {
        if let opens = try opensRecovered(with: key, cipher: cipher, look) { return opens }
        // A page that another process is just writing looks damaged, until it is undone or whole.
        return try (0..<3).contains(where: attempt)
            || opensRecovered(with: key, cipher: cipher, file.look()) == true
    }

    /// Whether the key decrypts the version of the first page that a journal beside the file holds.
    ///
    /// - Parameter key: A raw key.
    /// - Returns: `nil` if there is none that was encrypted with this key.
    private func opensRecovered(
        with key: DatabaseKey,
        cipher: CipherSettings,
        _ look: FileLook
    ) throws -> Bool? {
        // The salt, or the mark of a plaintext header, is at the beginning of every version of that
        // page.
        let mark =
            cipher.hasPlaintextHeader
            ? DatabaseHeader.magic : Array(start.prefix(CipherSettings.saltCount))
        guard case .firstPage(let page) = try Recovery(by: look), page.starts(with: mark),
            page.count == cipher.pageSize
        else { return nil }
        if DatabaseHeader(decrypting: page, key: key, cipher: cipher) != nil { return true }
        let form = try PageForm(key: key, salt: salt(with: key), cipher: cipher)
        return form.provesPages && form.isIntact(page, number: 1) ? false : nil
    }

    /// Whether the first page, as SQLite will read it, begins like that of a database with pages of
    /// the expected size.
    ///
    /// SQLite must not read any other. If an authentic page names another size than the settings,
    /// SQLCipher decrypts whole pages into memory for smaller ones. And without an HMAC, a wrong key
    /// decrypts to nonsense, which SQLite might read as the mark of a write-ahead log, and create a
    /// log before it finds the error.
    ///
    /// - Parameter key: A raw key.
    package func hasHeader(with key: DatabaseKey) throws -> Bool {
        try proves(key) { count in
            let page = count == 0 ? Array(start.prefix(cipher.pageSize)) : try firstPage()
            return DatabaseHeader(decrypting: page, key: key, cipher: cipher) != nil
        }
    }

    private func firstPage() throws -> [UInt8] {
        do {
            let connection = try CipherConnection(immutable: file.absolutePath)
            return try connection.bytes(at: 0, count: cipher.pageSize)
        } catch {
            throw Self.cannotRead(file, error)
        }
    }

    /// Finds out why a plaintext database can't be opened.
    func explain(_ error: DatabaseError) -> any Error {
        // > The "file format read version" at byte 19: a value greater than 2 can't be read.
        // <https://www.sqlite.org/fileformat.html#file_format_version_numbers>
        if error.resultCode == .SQLITE_NOTADB, start[19] > 2 {
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
        // A plaintext header says that it is a database. SQLCipher 4.6 calls a first page that it can't
        // authenticate a logic error then, and 4.19 damage.
        let isUnauthentic = cipher.hasPlaintextHeader && cipher.hmacAlgorithm != .off
        let isDamaged =
            error?.resultCode == .SQLITE_CORRUPT
            || error?.resultCode == .SQLITE_ERROR && isUnauthentic
        // With the salt of another file, a raw key decrypts pages, but authenticates none.
        let hasOtherSalt =
            try isUnauthentic && isDamaged && authenticPages(key: derivedKey) == .none
        if let error, error.resultCode != .SQLITE_NOTADB, !hasOtherSalt {
            let pages = try isDamaged ? damagedPages(key: derivedKey) : []
            return explainSchema(error, damagedPages: pages) ?? error
        }
        let pages = try authenticPages(key: derivedKey)
        if pages != .first, let size = try headerSize(with: derivedKey) {
            return EncryptedDatabaseError.plaintextHeader(path: file.path, size: size)
        }
        switch pages {
        case .first:
            // The key is right, but SQLite can't read the decrypted header.
            return try hasHeader(with: derivedKey)
                ? EncryptedDatabaseError.newerFormat(path: file.path)
                : EncryptedDatabaseError.damaged(path: file.path, pages: [1])
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
        guard damagedPages.isEmpty else { return .damaged(path: file.path, pages: damagedPages) }
        let message = error.message ?? ""
        switch error.resultCode {
        case .SQLITE_ERROR where message == "unsupported file format":
            // This SQLite doesn't know the schema's format number.
            return .newerFormat(path: file.path)
        case .SQLITE_CORRUPT where message.hasPrefix("malformed database"):
            // Every page is intact, so the schema has SQL that this SQLite doesn't know.
            return .newerFormat(path: file.path)
        default:
            return EncryptedDatabaseError(error, path: file.path)
        }
    }

    private func explainForeignFile(key: DatabaseKey) throws -> EncryptedDatabaseError {
        for other in cipher.candidates.dropFirst() {
            let derived = try key.derived(salt: salt(with: key), cipher: other)
            guard
                try !decrypts(derived, other),
                try opensRecovered(with: derived, cipher: other, file.look()) != true
            else {
                return .olderFormat(path: file.path, cipherCompatibility: other.compatibility)
            }
        }
        guard fitsPageSize else { return .notADatabase(path: file.path) }
        guard try !isRawKey(key) else { return .rawKeyAsPassphrase(path: file.path) }
        return cipher.hasPlaintextHeader
            ? .wrongKeyOrSalt(path: file.path) : .wrongKey(path: file.path)
    }

    /// Whether a passphrase consists of the digits of a raw key that opens the file.
    private func isRawKey(_ key: DatabaseKey) throws -> Bool {
        guard key.form == .passphrase,
            let raw = try? DatabaseKey.rawKey(hexadecimal: key.secret)
        else { return false }
        return try cipher.candidates.contains { try decrypts(raw, $0) }
    }

    /// Whether the key decrypts the first page with these settings, even if the rest of the file
    /// was cut off.
    ///
    /// - Parameter key: A raw key.
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
            let authentication = try PageAuthentication(
                key: key,
                salt: salt(with: key),
                cipher: cipher
            )
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

    /// The size of the plaintext header with which the first page is authentic, if it isn't the one that
    /// the settings say.
    ///
    /// - Parameter key: A raw key.
    private func headerSize(with key: DatabaseKey) throws -> Int? {
        guard cipher.hasPlaintextHeader, size >= cipher.pageSize else { return nil }
        let page = try firstPage()
        return try cipher.withOtherHeaderSizes.first { other in
            try PageAuthentication(
                key: key,
                salt: other.salt(ofFile: start, key: key),
                cipher: other
            )?
            .isAuthentic(page, number: 1) == true
        }?.plaintextHeaderSize
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

    /// The file's salt.
    ///
    /// - Throws: `CipherSettingsError.noSalt`.
    package func salt(with key: DatabaseKey) throws -> [UInt8] {
        try cipher.salt(ofFile: start, key: key)
    }

    /// Whether the file begins like a plaintext database, and goes on like one.
    /// <https://www.sqlite.org/fileformat.html#magic_header_string>
    package var isPlaintext: Bool {
        start.starts(with: DatabaseHeader.magic) && !hasPlaintextHeader
    }

    /// Whether only the file's header is in plaintext.
    private var hasPlaintextHeader: Bool {
        FileBeginning.hasPlaintextHeader(start, fileSize: size)
    }

    /// The result code of reading the first page.
    ///
    /// - Parameter key: A raw key.
    /// - Throws: An ``EncryptedDatabaseError`` if the file can't be opened or read now: that says
    ///   nothing about the key.
    private func read(with key: DatabaseKey, cipher: CipherSettings) throws -> CipherCode {
        let code: CipherCode
        do throws(CipherCode) {
            let connection = try CipherConnection(immutable: file.absolutePath)
            let result = connection.setKey(key, cipher: cipher)
            guard result == .ok else { throw result }
            code =
                try connection.hasHeader(with: key, cipher: cipher)
                ? connection.run("PRAGMA schema_version") : .notADatabase
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

extension CipherConnection {
    /// Whether the first page, as it is on the disk, decrypts to a database's header.
    ///
    /// - Parameter key: A raw key.
    fileprivate borrowing func hasHeader(
        with key: DatabaseKey,
        cipher: CipherSettings
    ) throws(CipherCode) -> Bool {
        let page = try bytes(at: 0, count: cipher.pageSize)
        return DatabaseHeader(decrypting: page, key: key, cipher: cipher) != nil
    }
}
