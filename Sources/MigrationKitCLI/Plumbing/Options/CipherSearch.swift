import MigrationKitKeys
import MigrationKitPages
import MigrationKitSQLCipher

/// Finds the settings with which a key opens a file, among those of SQLCipher's versions and of programs.
struct CipherSearch {
    let path: String
    let cipher: CipherSettings
    let context: CommandContext

    /// - Returns: `nil` if the key opens the file with none.
    /// - Throws: `EncryptedDatabaseError` if the file can't be read; ``Interruption``.
    func settings(of key: DatabaseKey) throws -> CipherSettings? {
        let search = try KeySearch(path, cipher: cipher)
        let display = ProgressDisplay(KeySearchProgress(), in: context)
        return try display.watch(KeySearch.Options()) { options in
            try search.first(of: [[key]], .usual, options: options)
                ?? search.first(of: [[key]], .unusual, options: options)
        }?.cipher
    }
}

extension MigrationDatabaseOpenOptions {
    /// The same options with the settings with which the key opens the file; unchanged if there are none.
    ///
    /// The key's source is read only once: it may be a question, or a pipe.
    func findingSettings(in context: CommandContext) throws -> Self {
        guard let path = dbPath, EncryptedDatabase.hasContent(path), !isPlaintext,
            let source = try onlyKeySource()
        else { return self }
        do {
            try EncryptedDatabase.check(path, is: .encrypted, cipher: cipher)
        } catch EncryptedDatabaseError.damaged {
            return self
        }
        context.keySource.note(source)
        let search = CipherSearch(path: path, cipher: cipher, context: context)
        var found = self
        if case .keyStore = source {
            do {
                var looking = self
                looking.purpose = .inspect
                found.cipher = try looking.open { key in
                    guard let key, let settings = try search.settings(of: key) else {
                        throw EncryptedDatabaseError.wrongKey(path: path)
                    }
                    return settings
                }
            } catch EncryptedDatabaseError.wrongKey {
                return self
            }
        } else {
            found.keyOrigin = source
            found.otherKeySource = .password(try KeyResolver { keyStore }.secret(from: source))
            context.release(source)
            guard let key = try found.key() else { return self }
            found.cipher = try search.settings(of: key) ?? cipher
        }
        if found.cipher != cipher {
            context.note("\(path.printable) has other settings: \(found.cipher)")
        }
        return found
    }

    /// The settings with which a key opens the file: these, those of another version, or a program's own.
    ///
    /// - Throws: `EncryptedDatabaseError`.
    func cipher(
        of path: String,
        key: DatabaseKey,
        in context: CommandContext
    ) throws -> CipherSettings {
        func opening(with cipher: CipherSettings) throws -> CipherSettings {
            // Without undoing anything. Only where nothing can be written, the file is read in place.
            var options = EncryptedDatabase.Options(isReadOnly: true, cipher: cipher)
            do {
                try EncryptedDatabase.open(path, key: key, options: options).close()
            } catch EncryptedDatabaseError.readOnlyFolder {
                (options.isReadOnly, options.purpose) = (false, .read)
                try EncryptedDatabase.open(path, key: key, options: options).close()
            }
            return cipher
        }
        do {
            return try opening(with: cipher)
        } catch EncryptedDatabaseError.olderFormat(_, let version) {
            return try cipher.ofVersion(version)
        } catch EncryptedDatabaseError.otherSettings(_, let found) where found.canBeSet {
            return found
        } catch let error as EncryptedDatabaseError where error.isOfSettings {
            let search = CipherSearch(path: path, cipher: cipher, context: context)
            guard let found = try search.settings(of: key) else { throw error }
            return try opening(with: found)
        }
    }
}

extension CommandError {
    /// The key opens the file with no settings that are known.
    static func noSettingsOpen(
        _ path: String,
        _ error: EncryptedDatabaseError
    ) -> CommandError {
        CommandError(
            error.code,
            error.errorDescription ?? "\(error)",
            EncryptedDatabaseError.adviceWithoutSettings(path)
        )
    }
}

extension EncryptedDatabaseError {
    /// Whether other settings may be the reason.
    var isOfSettings: Bool {
        switch self {
        case .wrongKey, .wrongKeyOrSalt: true
        default: false
        }
    }
}

// MARK: - Progress

/// How many keys were tried.
struct KeySearchProgress: OperationProgress {
    private(set) var line: String?

    mutating func note(_ event: KeySearch.Progress) {
        line = "searching: \(event.tried) of \(event.total) tries"
    }
}

// MARK: - Advice

extension EncryptedDatabaseError {
    static var otherReasons: String {
        """
        If the key is hexadecimal digits, add --raw-key.
        If the key is right, '\(Program.name) salvage' searches for a flipped bit in the first \
        bytes and recovers what it can read.
        """
    }

    /// What to do if a key opens a file with no settings that are known.
    static func adviceWithoutSettings(_ path: String) -> String {
        """
        Tried: all page sizes, hash functions and HMACs, with numbers of iterations from 1 to \
        1,000,000 that programs use. Either the key is wrong, or its number of iterations is another \
        one (--kdf-iterations), or the file is not SQLCipher's but, for instance, of SQLite3 Multiple \
        Ciphers with its setting legacy, or its first bytes are damaged. These look alike.
        \(search(path))
        \(otherReasons)
        """
    }

    /// The commands that find a database's key, or bring it back, each on a line.
    static func search(
        _ path: String,
        more: String = ""
    ) -> String {
        """
        To search the secret store for its key, and each file of a folder:
          \(Program.name) key find --db-path \(path.shellWord)\(more) --key-file DIR
        To get it back from the copy that 'key export' made, into a file (without --output: into the \
        secret store):
          \(Program.name) key import COPY --db-path \(path.shellWord)\(more) --output FILE
        """
    }
}
