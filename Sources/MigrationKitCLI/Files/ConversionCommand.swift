import ArgumentParser
import MigrationKitCommon
import MigrationKitKeys
import MigrationKitSQLCipher

/// A command that rewrites a database.
protocol ConversionCommand: KeyedFileCommand {
    var conversion: ConversionOptions { get }
    var waiting: LockTimeoutOptions { get }
}

extension ConversionCommand {
    /// The database that the options name, its current or new key, and its settings.
    ///
    /// - Parameter isNew: Whether the key is the database's new one.
    func namedDatabase(
        in context: CommandContext,
        keyIsNew isNew: Bool = false
    ) throws -> (path: String, key: DatabaseKey, cipher: CipherSettings) {
        do {
            return try withNamedDatabase(
                in: context,
                file: isNew ? (nil, .plaintext) : nil
            ) { path, options in
                guard options.keySource != nil else { throw MigrationCLIError.noKeyToConvert }
                let stored =
                    try isNew ? nil : options.storedKey(timeout: waiting.lockTimeout(in: context))
                guard
                    let key = try options.explainingFormerKey({ try stored?.provenKey() })
                        ?? (isNew ? options.newKey() : options.key())
                else { throw MigrationCLIError.noKeyToConvert }
                return (path, key, options.cipher)
            }
        } catch EncryptedDatabaseError.encrypted(let path) where isNew {
            throw DatabaseConversionError.notPlaintext(path: path)
        }
    }

    /// Converts, shows the progress, and reports the result.
    ///
    /// - Parameters:
    ///   - deed: What was done, as text: `Encrypted`.
    ///   - notes: Notes about it.
    ///   - make: Makes the conversion from its options.
    func convert(
        _ path: String,
        in context: CommandContext,
        deed: String,
        notes: [ConversionNote] = [],
        _ make: (RewriteOptions) -> DatabaseConversion
    ) throws {
        let options = RewriteOptions(
            timeout: try waiting.lockTimeout(in: context),
            functions: context.host.store?.options.functions ?? [],
            collations: context.host.store?.options.collations ?? []
        )
        let display = ProgressDisplay(ConversionProgress(), in: context)
        let report = try display.watch(options) { options in
            guard let output = conversion.output else {
                return try make(options).run(keptOriginalPath: conversion.keepOriginal)
            }
            return try make(options).run(to: output)
        }
        let notes =
            notes
            + [
                .narrowedMode(from: report.formerMode, path: path),
                .otherNames(report.otherNameCount),
            ].compactMap { $0 }
        if json {
            return try context.printJSON(
                report,
                fields: [
                    "database": path, "output": conversion.output, "notes": notes.map(\.line),
                    "phases": report.secondsByPhase,
                ]
            )
        }
        defer { context.tell(findings: report.findings, of: path) }
        let target = conversion.output.map { " into \($0.printable)" } ?? ""
        context.output("\(deed) \(path.printable)\(target): \(report.text)")
        if let original = conversion.keepOriginal {
            context.output("The original is kept in \(original.printable).")
        }
        context.tell(notes)
    }

    /// The settings of a new encrypted file: these, with the requested page size.
    func newCipher(_ cipher: CipherSettings) throws -> CipherSettings {
        try conversion.pageSize.map { try cipher.with(pageSize: $0) } ?? cipher
    }
}

extension ConversionReport {
    /// How long each phase took, by its name.
    fileprivate var secondsByPhase: [String: Double] {
        Dictionary(uniqueKeysWithValues: phaseSeconds.map { ($0.key.rawValue, $0.value) })
    }

    /// For people: what is in the new file, and that it is right.
    var text: String {
        let tables = counted(tableCount, "table")
        let rows = counted(rowCount, "row")
        return """
            \(tables) with \(rows), \(bytesAfter.byteCount), in \(duration(seconds)).
            The new file was compared with the old one. \(soundness(findings))
            """
    }
}

/// What was found about the structure of a new file, in a sentence.
func soundness(_ findings: [String]) -> String {
    findings.isEmpty ? "Its structure is sound." : "See the warnings."
}

/// The options of every command that rewrites a database.
struct ConversionOptions: ParsableArguments {
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Write this new file, and leave the database as it is.",
            valueName: "path"
        ),
        completion: .file()
    )
    var output: String?

    @Option(
        help: ArgumentHelp(
            "First copy the old database to this new file.",
            valueName: "path"
        ),
        completion: .file()
    )
    var keepOriginal: String?

    @Option(
        help: ArgumentHelp(
            "The new file's page size in bytes: a power of two from 512 to 65536.",
            valueName: "number"
        )
    )
    var pageSize: Int?

    func validate() throws {
        try checkNotEmpty(output, "--output")
        try checkNotEmpty(keepOriginal, "--keep-original")
        if output != nil, keepOriginal != nil {
            throw ValidationError(
                "--output doesn't replace the database. Leave out --keep-original."
            )
        }
        // The limits of SQLite and SQLCipher. <https://www.sqlite.org/fileformat.html#page_size>
        if let pageSize, !(512...65536).contains(pageSize) || pageSize.nonzeroBitCount != 1 {
            throw ValidationError(
                "The page size must be a power of two from 512 to 65536, not \(pageSize)."
            )
        }
    }
}

// MARK: - Keyed File Command

/// A command that works on a database's file and its key. It needs no migrations.
protocol KeyedFileCommand: ContextCommand {
    var database: KeyedDatabaseOptions { get }
    var settings: SettingsOptions { get }
    var json: Bool { get }
}

extension KeyedFileCommand {
    /// Combines the options, checks the file before anybody is asked for its key, and closes the
    /// key's descriptor at the end.
    ///
    /// - Parameters:
    ///   - isPlaintext: Whether an option says that the database isn't encrypted.
    ///   - file: The file that the key is for, and what it must be; `nil` for the named database,
    ///     which must be encrypted unless an option says that it isn't.
    ///   - body: Receives the path and the options.
    func withNamedDatabase<Value>(
        in context: CommandContext,
        isPlaintext: Bool = false,
        file: (path: String?, is: EncryptedDatabase.Expectation)? = nil,
        _ body: (_ path: String, MigrationDatabaseOpenOptions) throws -> Value
    ) throws -> Value {
        context.settingsSource.use(settings.config)
        let options = try database.resolved(in: context, for: .change(), isPlaintext: isPlaintext)
        guard let path = options.dbPath else { throw MigrationCLIError.noDatabasePath }
        if !isPlaintext {
            try options.checkBeforeKey(file?.path ?? path, is: file?.is ?? .encrypted)
        }
        _ = try options.onlyKeySource()
        context.keySource.note(options.namedKeySource)
        defer { context.release(options.keySource) }
        return try body(path, options)
    }

    /// Reads a new key from its source.
    func read(
        _ newKey: KeyOptions<NewKey>,
        from source: KeySource,
        in context: CommandContext
    ) throws -> DatabaseKey {
        defer { context.release(source) }
        // The database's key may be named in the environment.
        try Self.checkInput(of: context.keySource.noted, source)
        // The settings file's collection applies only to its own service.
        let store = try database.keychain.keyStore(in: context, ofService: false)
        return try KeyResolver { store }.newKey(from: source, form: newKey.form)
    }

    /// Throws if both keys should come from one descriptor, such as standard input: reading the
    /// first key consumes everything.
    func checkInput(_ newKey: KeyOptions<NewKey>) throws {
        // Contradicting options are reported where they are used.
        try Self.checkInput(
            of: database.secret.sources.first,
            try? newKey.source()
        )
    }

    static func checkInput(of source: KeySource?, _ other: KeySource?) throws {
        guard let number = source?.descriptor, number == other?.descriptor else { return }
        let name = number == 0 ? "Standard input" : "The descriptor \(number)"
        throw ValidationError("\(name) can give one of the two keys only.")
    }
}

extension DatabaseCommand where Self: KeyedFileCommand {
    var config: String? { settings.config }
}
