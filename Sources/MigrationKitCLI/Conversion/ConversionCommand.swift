import ArgumentParser
import KeyStore
import MigrationKitSQLCipher

/// A command that writes a database anew.
protocol ConversionCommand: KeyedFileCommand {
    var conversion: ConversionOptions { get }
}

extension ConversionCommand {
    /// The database that is named, its key, or the one that it is to get, and its settings.
    ///
    /// - Parameter isNew: Whether the key is one that the database is to get.
    func namedDatabase(
        in context: CommandContext,
        keyIsNew isNew: Bool = false
    ) throws -> (path: String, key: DatabaseKey, cipher: CipherSettings) {
        context.settingsSource.use(settings.config)
        context.warn(about: database.secret)
        let options = try database.resolved(in: context)
        guard let path = options.dbPath else { throw MigrationCLIError.noDatabasePath }
        context.keySource.note(options.keySource)
        defer { context.release(options.keySource) }
        guard options.keySource != nil else { throw MigrationCLIError.noKeyToConvert }
        let stored =
            try isNew ? nil : options.storedKey(timeout: conversion.lockTimeout(in: context))
        guard let key = try stored?.provenKey() ?? options.key() else {
            throw MigrationCLIError.noKeyToConvert
        }
        if isNew, case .prompt = options.keySource { try askAgain(key, in: context) }
        return (path, key, options.cipher)
    }

    /// Converts, shows how far it is, and tells what was done.
    ///
    /// - Parameters:
    ///   - deed: What was done, for people: `Encrypted`.
    ///   - note: What is worth knowing about it.
    ///   - make: Makes the conversion from its options.
    func convert(
        _ path: String,
        in context: CommandContext,
        deed: String,
        note: ConversionNote? = nil,
        _ make: (DatabaseConversion.Options) -> DatabaseConversion
    ) throws {
        var options = DatabaseConversion.Options(
            outputPath: conversion.output,
            keptOriginalPath: conversion.keepOriginal,
            timeout: try conversion.lockTimeout(in: context)
        )
        let report = try ConversionProgress(context: context).watch { watched in
            watched(&options)
            return try make(options).run()
        }
        let notes = [note, .otherNames(report.otherNameCount)].compactMap { $0 }
        if json {
            return try context.printJSON(
                ConversionDocument(
                    database: path,
                    output: conversion.output,
                    report: report,
                    notes: notes
                )
            )
        }
        let target = conversion.output.map { " into \($0.printable)" } ?? ""
        let tables = "\(report.tableCount) \(report.tableCount == 1 ? "table" : "tables")"
        let rows = "\(report.rowCount) \(report.rowCount == 1 ? "row" : "rows")"
        context.output(
            """
            \(deed) \(path.printable)\(target): \(tables) with \(rows), \
            \(report.bytesAfter.byteCount), in \(duration(report.seconds)).
            The new file was compared with the old one, and verified.
            """
        )
        if let original = conversion.keepOriginal {
            context.output("The original is kept in \(original.printable).")
        }
        context.tell(notes)
    }

    /// The settings of a new encrypted file: these, with the page size that is asked for.
    func newCipher(_ cipher: CipherSettings) throws -> CipherSettings {
        guard let pageSize = conversion.pageSize else { return cipher }
        return try CipherSettings(
            compatibility: cipher.compatibility,
            pageSize: pageSize,
            kdfIterations: cipher.kdfIterations,
            kdfAlgorithm: cipher.kdfAlgorithm,
            hmacAlgorithm: cipher.hmacAlgorithm
        )
    }
}

/// What a conversion prints as JSON.
struct ConversionDocument: Encodable {
    let schemaVersion = JSON.schemaVersion
    let database: String
    let output: String?
    let original: String?
    let tables: Int
    let rows: Int
    let bytesBefore: Int
    let bytesAfter: Int
    let seconds: Double
    /// By the name of the phase.
    let phases: [String: Double]
    let notes: [String]
    let verified = true

    init(
        database: String,
        output: String?,
        report: ConversionReport,
        notes: [ConversionNote]
    ) {
        self.database = database
        self.output = output
        original = report.originalPath
        tables = report.tableCount
        rows = report.rowCount
        bytesBefore = report.bytesBefore
        bytesAfter = report.bytesAfter
        seconds = report.seconds
        phases = Dictionary(
            uniqueKeysWithValues: report.phaseSeconds.map { ($0.key.rawValue, $0.value) }
        )
        self.notes = notes.map(\.line)
    }
}
