import ArgumentParser
import MigrationKitKeys
import MigrationKitCommon
import MigrationKitSQLCipher

struct RekeyCommand: ConversionCommand, DatabaseCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "rekey",
            _superCommandName: Program.name,
            abstract: "Give an encrypted database another key.",
            usage: """
                \(Program.name) rekey [<database>]
                  [--new-password-file <path>] [<options>]
                """,
            discussion: """
                The new key comes from an option of 'New key'. Without one, it is asked for twice. \
                A raw key can replace a passphrase, and the other way round. At every instant, one \
                of the two keys opens the whole file. Backups keep the old key. For a key in the \
                desktop's secret store, use 'key rotate'. A plaintext header and its salt stay, \
                unless an option gives others.
                """
        )
    }

    @OptionGroup var argument: DatabaseArgument

    @OptionGroup var conversion: ConversionOptions
    @OptionGroup var waiting: LockTimeoutOptions
    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "New key") var newKey: KeyOptions<NewKey>

    @OptionGroup(title: "New key") var newHeader: NewHeaderOptions
    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var settings: SettingsOptions

    func validate() throws {
        try checkInput(newKey)
    }

    func run(in context: CommandContext) throws {
        let (path, key, cipher) = try namedDatabase(in: context)
        let source = try newKey.source(for: path, beside: database, in: context)
        let new = try read(newKey, from: source, in: context)
        let newCipher = try newHeader.header(newCipher(cipher), from: key, to: new)
        let notes = try [
            newHeader.note(newCipher, from: key, to: new), copiesNote,
            settingsNote(source, for: path, in: context),
        ].compactMap { $0 }
        try convert(path, in: context, deed: "Gave another key to", notes: notes) {
            .rekey(
                path,
                from: key,
                to: new,
                cipher: cipher,
                newCipher: newCipher,
                options: $0
            )
        }
    }
}

extension RekeyCommand {
    /// A note that copies of the database or its key don't change; `nil` if the database doesn't, either.
    private var copiesNote: ConversionNote? {
        guard conversion.output == nil else { return nil }
        return ConversionNote(
            headline: "backups still have the old key",
            explanation: "Keep it for them. \(KeyEntry.newCopyText)"
        )
    }

    /// A note that the settings file names another key for the database than its new one.
    private func settingsNote(
        _ source: KeySource,
        for path: String,
        in context: CommandContext
    ) throws -> ConversionNote? {
        guard conversion.output == nil, let file = try context.settings(),
            let named = file.keySource, !named.isSame(as: source),
            file.value(.dbPath, as: String.self).map({ $0.isSameFile(as: path) }) ?? true
        else { return nil }
        return ConversionNote(
            headline: "\(file.path) names another key than the new one: \(named)",
            explanation: "Change it there, or put the new key in that place."
        )
    }
}

extension SettingsFile {
    /// Where the database's key is; `nil` if the file doesn't say.
    fileprivate var keySource: KeySource? {
        if let path: String = value(.passwordFile) { return .file(path: path) }
        let service: String? = value(.keychainService)
        return service.map { .keyStore(service: $0, account: value(.keychainAccount)) }
    }
}

extension KeySource {
    fileprivate func isSame(as other: KeySource) -> Bool {
        guard case .file(let path) = self, case .file(let otherPath) = other else {
            return self == other
        }
        return path.isSameFile(as: otherPath)
    }
}

extension String {
    fileprivate func isSameFile(as other: String) -> Bool {
        (realPath(self) ?? self) == (realPath(other) ?? other)
    }
}

/// The options that give a rewritten database another header.
struct NewHeaderOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "How many of the new file's first bytes are plaintext; 0 for none.",
            valueName: "bytes"
        )
    )
    var newCipherPlaintextHeaderSize: Int?

    @Option(
        help: ArgumentHelp(
            "The salt of a new file with a plaintext header: 32 hexadecimal digits.",
            valueName: "digits"
        )
    )
    var newCipherSalt: CipherSalt?

    /// The settings with the new header. What isn't given stays.
    ///
    /// - Throws: `CipherSettingsError` for a size out of range, or if the salt is missing.
    func header(
        _ cipher: CipherSettings,
        from key: DatabaseKey,
        to newKey: DatabaseKey
    ) throws -> CipherSettings {
        let size =
            newCipherPlaintextHeaderSize
            ?? (newCipherSalt != nil && !cipher.hasPlaintextHeader
                ? CipherSettings.usualPlaintextHeaderSize : cipher.plaintextHeaderSize)
        var salt = newCipherSalt?.bytes
        if salt == nil, size > 0 {
            // The key may have contained the file's salt.
            let former = cipher.hasPlaintextHeader ? key.salt ?? cipher.salt : nil
            salt = newKey.salt == nil ? former : nil
        }
        let new = try CipherSettings(
            compatibility: cipher.compatibility,
            pageSize: cipher.pageSize,
            kdfIterations: cipher.kdfIterations,
            kdfAlgorithm: cipher.kdfAlgorithm,
            hmacAlgorithm: cipher.hmacAlgorithm,
            plaintextHeaderSize: size,
            salt: salt
        )
        if new.hasPlaintextHeader { _ = try new.newSalt(for: newKey) }
        return new
    }

    /// A note if the new file's salt was in the old key, and isn't in the new one.
    func note(
        _ cipher: CipherSettings,
        from key: DatabaseKey,
        to newKey: DatabaseKey
    ) -> ConversionNote? {
        guard cipher.hasPlaintextHeader, newCipherSalt == nil, key.salt != nil,
            newKey.salt == nil
        else { return nil }
        return ConversionNote(
            headline: "the new key doesn't contain the database's salt, as the old one did",
            explanation: """
                The salt is still the same. Keep it beside the key: every command needs it.
                """,
            command: cipher.options.shellCommand
        )
    }
}
