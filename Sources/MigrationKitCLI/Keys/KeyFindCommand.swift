import ArgumentParser
import Foundation
import MigrationKitCommon
import MigrationKitKeys
import MigrationKitSQLCipher

struct KeyFindCommand: DatabaseCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "find",
            _superCommandName: Program.name,
            abstract: "Find the key that opens a database.",
            usage:
                "\(Program.name) key find [<database>] [--key-file <path>]... [<options>]",
            discussion: """
                Tries every item of the secret store, whichever program stored it, and the files of \
                --key-file. Reports the item or file, and the options that name it for the other \
                commands; never the key. Each passphrase is tried with the settings given by \
                options, then those of SQLCipher 4, 3, 2 and 1. Locked collections are unlocked \
                only if no other key opens it. --keychain-service limits the search to a service, with its \
                previous and pending keys.

                Changes nothing. Exit code 69: no key opens it. 77: no key does, but a collection \
                is locked.
                """
        )
    }

    @OptionGroup var argument: DatabaseArgument

    @Option(
        help: ArgumentHelp(
            "A file with a key, or a folder of such files. May be repeated.",
            valueName: "path"
        ),
        completion: .file()
    )
    var keyFile: [String] = []

    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Database") var database: DatabaseFileOptions
    @OptionGroup(title: "Key") var keychain: KeychainOptions
    @OptionGroup(title: "Key") var settings: SettingsOptions

    var config: String? { settings.config }

    var isReport: Bool { true }

    func validate() throws {
        guard keychain.keychainAccount == nil else {
            throw ValidationError("Leave out --keychain-account: every account is searched.")
        }
        for path in keyFile { try checkNotEmpty(path, "--key-file") }
    }

    func run(in context: CommandContext) throws {
        context.settingsSource.use(settings.config)
        guard let path = try database.path(in: context) else {
            throw MigrationCLIError.noDatabasePath
        }
        let search = try KeySearch(path, cipher: database.cipher(in: context))
        let files = try KeyCandidate.files(keyFile)
        for note in files.notes { context.note(note) }
        let display = ProgressDisplay(KeySearchProgress(), in: context)
        let (candidates, match) = try display.watch(KeySearch.Options()) { options in
            try find(by: search, in: files.candidates, path, context, options)
        }
        let matches = candidates.filter { $0.keys.contains(match.key) }.map {
            FoundKey($0, match, path: path, among: candidates)
        }
        if json {
            return try context.printJSON(
                fields: [
                    "database": path, "form": match.key.form,
                    "cipherCompatibility": match.cipher.compatibility,
                    "candidates": candidates.count, "found": matches.map(\.document),
                ]
            )
        }
        context.output(
            matches.count == 1
                ? "A key opens \(path.printable):"
                : "A key opens \(path.printable). It is stored \(matches.count) times:"
        )
        for found in matches { context.output(found.text()) }
    }

    /// Tries files and readable items first. Only if none opens the file, collections are unlocked.
    private func find(
        by search: KeySearch,
        in files: [KeyCandidate],
        _ path: String,
        _ context: CommandContext,
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
                guard !keyFile.isEmpty else { throw error }
                let reason = error.errorDescription ?? "\(error)"
                if context.writesNotes {
                    context.note("only files were tried: \(reason)")
                }
            }
            let all = files + items
            let new = all.filter { candidate in !tried.contains { $0.place == candidate.place } }
            if let match = try search.first(of: new.map(\.keys), options: options) {
                return (all, match)
            }
            tried += new
            if locked.isEmpty { break }
        }
        throw CommandError.noKeyOpens(
            path,
            triedCount: tried.count,
            locked: locked,
            record: KeyRecord(besideDatabase: path)?.sentence(in: store)
        )
    }

    /// Whether an item is of the named service, its previous and pending keys included.
    private func isAsked(_ entry: KeyEntry) -> Bool {
        guard let service = keychain.keychainService else { return true }
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
    /// What the secret can mean: a raw key, a passphrase, or either.
    let keys: [DatabaseKey]

    /// - Returns: `nil` if the item's secret can't be a key.
    init?(_ entry: KeyEntry) {
        self.init(.item(entry.item), entry.text, form: entry.item.form)
    }

    private init?(_ place: Place, _ text: Secret, form: DatabaseKey.Form?) {
        // A passphrase of 64 KiB is the longest that other commands accept.
        guard text.count <= 65536 else { return nil }
        let forms = form.map { [$0] } ?? [.rawKey, .passphrase]
        keys = forms.compactMap { try? DatabaseKey(text, form: $0) }
        self.place = place
        if keys.isEmpty { return nil }
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
    ///   - record: Who stored the key, in a sentence; `nil` if that isn't known.
    fileprivate static func noKeyOpens(
        _ path: String,
        triedCount: Int,
        locked: [String],
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
            (record.map { "\($0).".printable + "\n" } ?? "") + """
                Give files that may have the key, or a folder of them, with --key-file. If you have a \
                recovery copy: '\(Program.name) key import'. A backup of the home has the old keyring: \
                see the page Keys.md of the documentation.
                If the file has settings of its own, give them: --cipher-compatibility, \
                --cipher-page-size, --kdf-iterations, --kdf-algorithm, --hmac-algorithm.
                '\(Program.name) inspect' reports what the file is.
                """
        )
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
