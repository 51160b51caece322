import MigrationKitPages
import GRDB
import MigrationKitKeys

/// Inspects a file with content, without changing it or anything beside it.
package struct FileInspection {
    private let look: FileLook
    private let cipher: CipherSettings
    /// The first pages: the file's kind may depend on them. Bytes past its end are zero.
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
            start = try connection.bytes(
                at: 0,
                count: 2 * max(FileBeginning.count, cipher.pageSize)
            )
        } catch {
            throw Self.cannotRead(look.file, error)
        }
    }

    /// Whether it is a text, which no database is.
    var isText: Bool { FileBeginning.isText(start.prefix(min(size, FileBeginning.count))) }

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
        guard fitsPageSize else { throw EncryptedDatabaseError.notADatabase(path: file.path) }
        throw beginsWithZeros
            ? EncryptedDatabaseError.damaged(path: file.path, pages: [1])
            : EncryptedDatabaseError.encrypted(path: file.path)
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
            throw beginsWithZeros
                ? EncryptedDatabaseError.damaged(path: file.path, pages: [1])
                : EncryptedDatabaseError.plaintextHeader(path: file.path, size: 0)
        }
        // A damaged first page may look like anything.
        guard !FileBeginning.isCertainlyPlaintext(start) else {
            throw EncryptedDatabaseError.plaintext(path: file.path)
        }
    }

    /// Throws if the file can't be an encrypted database, whatever its key is.
    func checkLooksEncrypted() throws {
        guard fitsPageSize, !isText else {
            throw EncryptedDatabaseError.notADatabase(path: file.path)
        }
        guard !beginsWithZeros else {
            throw EncryptedDatabaseError.damaged(path: file.path, pages: [1])
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
        let form = try PageForm(key: key, salt: salt(with: key), cipher: cipher)
        guard form.isIntact(page, number: 1) else { return nil }
        if DatabaseHeader(decrypting: page, key: key, cipher: cipher) != nil { return true }
        return form.provesPages ? false : nil
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
            try isUnauthentic && isDamaged
            && KeyTrial(.init(file.look())).verdict(derivedKey, among: [cipher]).fit == nil
        if let error, error.resultCode != .SQLITE_NOTADB, !hasOtherSalt {
            let pages = try isDamaged ? damagedPages(key: derivedKey) : []
            return explainSchema(error, damagedPages: pages) ?? error
        }
        let trial = KeyTrial(try .init(file.look()))
        let verdict = try trial.verdict(
            key,
            among: [cipher] + (cipher.hasPlaintextHeader ? cipher.withOtherHeaderSizes : [])
                + cipher.candidates.dropFirst(),
            // A wrong page size or HMAC would look like damage.
            unusual: cipher.unusual(for: key),
            derived: [cipher.keyDerivation: derivedKey]
        )
        switch verdict {
        case .opens(let fit) where fit.cipher.isOfMultipleCiphers:
            return EncryptedDatabaseError.multipleCiphers(start, path: file.path, isKeyRight: true)
                ?? .damaged(path: file.path, pages: [1])
        case .opens(let fit) where fit.isOfJournal && cipher.hmacAlgorithm == .off:
            // SQLite didn't take the first page from there, and nothing proves that it is this file's.
            return try explainWrongKey(key, trial)
        case .opens(let fit) where fit.cipher == cipher:
            // The key is right, but SQLite can't read the decrypted header.
            return EncryptedDatabaseError.newerFormat(path: file.path)
        case .opens(let fit) where fit.cipher.plaintextHeaderSize != cipher.plaintextHeaderSize:
            let size = fit.cipher.plaintextHeaderSize
            return EncryptedDatabaseError.plaintextHeader(path: file.path, size: size)
        case .opens(let fit) where fit.cipher.with(plaintextHeaderSize: 0, salt: nil).isVersion:
            return EncryptedDatabaseError.olderFormat(
                path: file.path,
                cipherCompatibility: fit.cipher.compatibility
            )
        case .opens(let fit):
            return EncryptedDatabaseError.otherSettings(path: file.path, cipher: fit.cipher)
        case .damaged(let fit):
            let pages = try damagedPages(key: fit.key, cipher: fit.cipher)
            return EncryptedDatabaseError.damaged(
                path: file.path,
                pages: pages.isEmpty ? [1] : pages
            )
        case .saltDamaged:
            return EncryptedDatabaseError.damaged(path: file.path, pages: [1])
        case .saltNeeded, .wrong:
            return try explainWrongKey(key, trial)
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

    private func explainWrongKey(
        _ key: DatabaseKey,
        _ trial: KeyTrial
    ) throws -> EncryptedDatabaseError {
        guard fitsPageSize else { return .notADatabase(path: file.path) }
        // Perhaps the passphrase consists of the digits of a raw key.
        if key.form == .passphrase, let raw = try? DatabaseKey.rawKey(hexadecimal: key.secret),
            try trial.verdict(raw, among: cipher.candidates).fit != nil
        {
            return .rawKeyAsPassphrase(path: file.path)
        }
        // Or the digits of the raw key are the passphrase.
        if key.form == .rawKey, let passphrase = try? DatabaseKey.passphrase(key.hexadecimal()),
            try trial.verdict(passphrase, among: cipher.candidates).fit != nil
        {
            return .passphraseAsRawKey(path: file.path)
        }
        guard !beginsWithZeros else { return .damaged(path: file.path, pages: [1]) }
        if let error = EncryptedDatabaseError.multipleCiphers(start, path: file.path) {
            return error
        }
        return cipher.hasPlaintextHeader
            ? .wrongKeyOrSalt(path: file.path) : .wrongKey(path: file.path)
    }

    /// Whether the first page was overwritten: neither a database nor a salt begins so.
    private var beginsWithZeros: Bool {
        start.prefix(CipherSettings.saltCount).allSatisfy { $0 == 0 }
    }

    /// Whether the file's size is a multiple of 512, the smallest page size. All page sizes are
    /// powers of two. <https://www.sqlite.org/fileformat.html#page_size>
    private var fitsPageSize: Bool { size % 512 == 0 }

    /// The damaged pages; none for a plaintext file.
    package func damagedPages(_ form: DatabaseForm, limit: Int = 100) throws -> [Int] {
        try form.key.map { try damagedPages(key: derive($0), limit: limit) } ?? []
    }

    private func damagedPages(
        key: DatabaseKey,
        cipher: CipherSettings? = nil,
        limit: Int = 100
    ) throws -> [Int] {
        do {
            let connection = try CipherConnection(immutable: file.absolutePath)
            let pages = try connection.damagedPages(key: key, cipher: cipher ?? self.cipher)
            return Array(pages.prefix(limit))
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
