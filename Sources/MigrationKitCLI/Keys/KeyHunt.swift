import Foundation
import MigrationKitCommon
import MigrationKitKeys
import MigrationKitSQLCipher

/// Finds the key that opens a database, among the items of the secret store and the keys in files.
struct KeyHunt {
    let path: String
    /// The settings that are tried first.
    let cipher: CipherSettings
    /// The only service that is searched; `nil` for all.
    let service: String?
    let keychain: KeychainOptions
    /// Files with keys, and folders of them.
    let files: [String]
    let context: CommandContext

    /// How many meanings of a secret are tried with settings that are seldom.
    private static let mostUnusualReadings = 16

    /// - Returns: The key, and all candidates, several of which may have it.
    /// - Throws: A ``CommandError`` if none opens the database; `EncryptedDatabaseError`; `KeyStoreError`;
    ///   `KeySourceError` for a named file that can't be read; ``Interruption``.
    func run() throws -> (candidates: [KeyCandidate], match: KeySearch.Match) {
        let search = try KeySearch(path, cipher: cipher)
        let (inFiles, notes) = try KeyCandidate.files(files)
        for note in notes { context.note(note) }
        return try ProgressDisplay(KeySearchProgress(), in: context).watch(KeySearch.Options()) {
            try find(by: search, in: inFiles, $0)
        }
    }

    /// Tries files and readable items first. Only if none opens the file, collections are unlocked.
    private func find(
        by search: KeySearch,
        in files: [KeyCandidate],
        _ options: KeySearch.Options
    ) throws -> (candidates: [KeyCandidate], match: KeySearch.Match) {
        let store = try keychain.keyStore(in: context, ofService: false)
        var (tried, items, locked): ([KeyCandidate], [KeyCandidate], [String]) = ([], [], [])
        for unlocks in keychain.noPrompt ? [false] : [false, true] {
            do {
                let contents = try store.contents(unlocking: unlocks)
                items = contents.entries.filter(isAsked).compactMap(KeyCandidate.init)
                locked = contents.lockedCollections
            } catch let error as KeyStoreError {
                // Without a Secret Service, the files are all there is, even if none can be a key.
                guard !self.files.isEmpty else { throw error }
                let reason = error.errorDescription ?? "\(error)"
                if context.writesNotes {
                    context.note("only files were tried: \(reason)")
                }
            }
            let all = files + items
            let new = all.filter { candidate in !tried.contains { $0.place == candidate.place } }
            for isPlain in [true, false] {
                let keys = new.map { $0.keys(isPlain: isPlain) }
                if let match = try search.first(of: keys, .usual, options: options) {
                    return (all, match)
                }
            }
            tried += new
            if locked.isEmpty { break }
        }
        // A long file has many texts, each of which takes seconds here.
        let keys = tried.map { $0.readings.prefix(Self.mostUnusualReadings).map(\.key) }
        if let match = try search.first(of: keys, .unusual, options: options) {
            return (tried, match)
        }
        try search.checkLibrary()
        throw CommandError.noKeyOpens(
            path,
            triedCount: tried.count,
            locked: locked,
            sealed: tried.filter(\.isOfSafeStorage).map(\.place),
            record: KeyRecord(besideDatabase: path)?.sentence(in: store)
        )
    }

    /// Whether an item is of the named service, its previous and pending keys included.
    private func isAsked(_ entry: KeyEntry) -> Bool {
        guard let service else { return true }
        return [service, FormerKey.service(of: service), PendingKey.service(of: service)]
            .contains(entry.item.service)
    }
}

// MARK: - Candidates

/// A secret that may be the key.
struct KeyCandidate {
    enum Place: Equatable {
        case item(KeyItem)
        case file(String)
    }

    let place: Place
    /// What the secret can mean.
    let readings: [KeyReading]
    /// Whether the secret, or a field of it, is what Chromium's safeStorage has encrypted.
    let isOfSafeStorage: Bool

    /// - Returns: `nil` if the item's secret can't be a key.
    init?(_ entry: KeyEntry) {
        self.init(.item(entry.item), entry.text, form: entry.item.form)
    }

    private init?(_ place: Place, _ text: Secret, form: DatabaseKey.Form?) {
        readings = KeyReading.all(of: text, form: form)
        self.place = place
        isOfSafeStorage = form == nil && text.isOfSafeStorage
        if readings.isEmpty { return nil }
    }

    /// - Parameter isPlain: Whether the keys are written as this tool does.
    func keys(isPlain: Bool) -> [DatabaseKey] {
        readings.filter { ($0.notation == nil) == isPlain }.map(\.key)
    }

    /// The keys in files, and in the files of folders.
    ///
    /// - Returns: With notes about files of folders that can't be read.
    /// - Throws: `KeySourceError` for a named file that can't be read.
    static func files(_ paths: [String]) throws -> (candidates: [KeyCandidate], notes: [String]) {
        var candidates: [KeyCandidate] = []
        var notes: [String] = []
        let resolver = KeyResolver { preconditionFailure("a file needs no key store") }
        for path in paths {
            var isFolder: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
            guard isFolder.boolValue else {
                let secret = try resolver.secret(from: .file(path: path))
                KeyCandidate(.file(path), secret, form: nil).map { candidates.append($0) }
                continue
            }
            for name in try FileManager.default.contentsOfDirectory(atPath: path).sorted() {
                let file = "\(path)/\(name)"
                _ = FileManager.default.fileExists(atPath: file, isDirectory: &isFolder)
                guard !isFolder.boolValue else { continue }
                guard FileManager.default.size(of: file) <= SecretReader.limit else {
                    notes.append(
                        "\(file) isn't a key: it has more than \(SecretReader.limit) bytes"
                    )
                    continue
                }
                do {
                    let secret = try resolver.secret(from: .file(path: file))
                    KeyCandidate(.file(file), secret, form: nil).map { candidates.append($0) }
                } catch let error as KeySourceError {
                    notes.append("not tried: \(error.errorDescription ?? "\(error)")")
                }
            }
        }
        return (candidates, notes)
    }
}

// MARK: - Errors

extension CommandError {
    /// No key that could be read opens the file.
    ///
    /// - Parameters:
    ///   - locked: The collections that could not be searched.
    ///   - sealed: The places of what Chromium's safeStorage has encrypted.
    ///   - record: Who stored the key, in a sentence; `nil` if that isn't known.
    fileprivate static func noKeyOpens(
        _ path: String,
        triedCount: Int,
        locked: [String],
        sealed: [KeyCandidate.Place],
        record: String?
    ) -> CommandError {
        let tried =
            triedCount == 0
            ? "there is no key that can be tried on \(path)"
            : "none of \(counted(triedCount, "key")) opens \(path)"
        guard locked.isEmpty else {
            let names = locked.map { "\"\($0)\"" }.joined(separator: ", ")
            return CommandError(
                ErrorCode("collectionLocked", .noPermission),
                "\(tried), and locked: \(names)",
                """
                Unlock the collection in the desktop's password program, or leave out --no-prompt to \
                be asked for its password. Then search again.
                """
            )
        }
        return CommandError(
            ErrorCode("noKeyOpens", .unavailable),
            tried,
            (record.map { "\($0).".printable + "\n" } ?? "") + sealed.map(Self.sealedText).joined()
                + """
                Give files that may have the key, or a folder of them, with --key-file. If you have a \
                recovery copy: '\(Program.name) key import'. A backup of the home has the old keyring: \
                see the page Keys.md of the documentation.
                If the file has settings of its own, give them: --cipher-compatibility, \
                --cipher-page-size, --kdf-iterations, --kdf-algorithm, --hmac-algorithm. A file of SQLite3 \
                Multiple Ciphers with its setting legacy looks like one of another key.
                '\(Program.name) inspect' reports what the file is.
                """
        )
    }

    /// <https://www.electronjs.org/docs/latest/api/safe-storage>
    private static func sealedText(_ place: KeyCandidate.Place) -> String {
        let name =
            switch place {
            case .file(let path): "the file \"\(path)\""
            case .item(let item): "the item \"\(item.label)\""
            }
        return """
            What \(name.printable) has is encrypted by safeStorage of Chromium or Electron. Only its own \
            program decrypts it, with a fixed key (v10) or with the item "… Safe Storage" of the secret \
            store (v11): let that program show or export the key.

            """
    }
}
