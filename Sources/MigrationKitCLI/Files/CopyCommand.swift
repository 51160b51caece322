import ArgumentParser
import MigrationKitKeys
import MigrationKitSQLCipher

/// A command that copies a database's content into another file, with the same key or another one.
protocol CopyCommand: KeyedFileCommand {
    var waiting: LockTimeoutOptions { get }
    var newKey: KeyOptions<NewKey> { get }
    var encryption: EncryptionOptions { get }

    /// The backup, as an option names it and as a plain argument; `nil` if it is only an option.
    var backupFile: (option: String, named: String?, plain: String?)? { get }

    /// The files that options name in addition to the database.
    var files: [(option: String, path: String?)] { get }

    /// The file that the key is for, if it isn't the database, and what the file must be.
    var keyedFile: (path: String?, is: EncryptedDatabase.Expectation) { get }

    /// What to do if a former key opens that file, and the item's key doesn't.
    func remedy(for path: String, with key: FormerKey) -> FormerKeyError.Remedy
}

extension CopyCommand {
    var keyedFile: (path: String?, is: EncryptedDatabase.Expectation) { (nil, .encrypted) }

    func remedy(for path: String, with key: FormerKey) -> FormerKeyError.Remedy {
        .rekey(path, from: key)
    }

    var backupFile: (option: String, named: String?, plain: String?)? { nil }

    /// The backup's path.
    var backupPath: String { backupFile?.named ?? backupFile?.plain ?? "" }

    func validate() throws {
        if let (option, named, plain) = backupFile {
            guard named != nil || plain != nil else {
                throw ValidationError(
                    "The backup is missing. Give its path as an argument, or with \(option)."
                )
            }
            if named != nil, let plain {
                throw ValidationError(
                    "The backup is given twice: '\(plain)' and \(option). Leave one out."
                )
            }
        }
        for file in files { try checkNotEmpty(file.path, file.option) }
        try checkInput(newKey)
        try newKey.checkOptional(isPlaintext: encryption.noEncryption)
    }

    /// Gets the keys, copies, and shows the progress.
    ///
    /// - Parameters:
    ///   - phases: The phases, in order.
    ///   - confirm: Asks, or throws, before anything is done.
    ///   - prepare: Receives the options that name the database and its key.
    ///   - copy: Receives the named database, the form and the new key of the source, and the
    ///     options.
    /// - Returns: The named database with its options, and what was done.
    func makeCopy<Report>(
        in context: CommandContext,
        phases: [ConversionEvent.Phase] = [.copying, .comparing, .verifying],
        confirm: (_ path: String) throws -> Void = { _ in },
        prepare: (MigrationDatabaseOpenOptions) throws -> Void = { _ in },
        _ copy: (String, DatabaseForm, DatabaseKey?, RewriteOptions) throws -> Report
    ) throws -> (path: String, options: MigrationDatabaseOpenOptions, report: Report) {
        let isPlaintext = encryption.noEncryption
        let (path, database, form) = try withNamedDatabase(
            in: context,
            isPlaintext: isPlaintext,
            file: keyedFile
        ) { path, options in
            guard !isPlaintext else { return (path, options, DatabaseForm.plaintext()) }
            guard let key = try options.key() else { throw MigrationCLIError.noKey }
            return (path, options, .encrypted(key, cipher: options.cipher))
        }
        let new = try newKey.source().map { try read(newKey, from: $0, in: context) }
        let options = RewriteOptions(
            timeout: try waiting.lockTimeout(in: context),
            functions: context.host.store?.options.functions ?? [],
            collations: context.host.store?.options.collations ?? []
        )
        try confirm(path)
        try prepare(database)
        let display = ProgressDisplay(ConversionProgress(phases: phases), in: context)
        let report = try display.watch(options) { options in
            try database.explainingFormerKey(
                of: keyedFile.path,
                remedy: { remedy(for: path, with: $0) },
                { try copy(path, form, new, options) }
            )
        }
        return (path, database, report)
    }
}
