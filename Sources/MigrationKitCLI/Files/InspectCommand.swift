import ArgumentParser
import Foundation
import MigrationKitKeys
import MigrationKitRescue
import MigrationKitSQLCipher

struct InspectCommand: DatabaseCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "inspect",
            _superCommandName: Program.name,
            abstract: "Show what a file is and, with its key, what it contains.",
            usage: "\(Program.name) inspect [<database>] [<options>]",
            discussion: """
                Changes nothing and creates no file, so a read-only folder is enough. A key is \
                tried with the settings given by options and with those of SQLCipher 4, 3, 2 and \
                1, also with the page size that a write-ahead log or a header names, and with \
                every size of a plaintext header.

                Exit codes: 0 done, 66 no such file, or a key was given and the file can't be a \
                database, 74 the file is damaged, 77 the key doesn't open it.
                """
        )
    }

    @OptionGroup var argument: DatabaseArgument

    @Flag(help: "Count the rows of every table.")
    var tables = false

    @Flag(help: "Check only some pages.")
    var quick = false

    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Database") var database: KeyedDatabaseOptions
    @OptionGroup(title: "Database") var encryption: EncryptionOptions
    @OptionGroup(title: "Database") var settings: SettingsOptions

    var config: String? { settings.config }

    var isReport: Bool { true }

    func run(in context: CommandContext) throws {
        context.settingsSource.use(settings.config)
        let options = try database.resolved(
            in: context,
            for: .inspect,
            isPlaintext: encryption.noEncryption
        )
        guard let path = options.dbPath else { throw MigrationCLIError.noDatabasePath }
        // Without a key it reports less, but asks nobody.
        var keySource = try options.isPlaintext ? nil : options.onlyKeySource()
        if case .prompt = keySource { keySource = nil }
        context.keySource.note(keySource)
        defer { context.release(keySource) }
        if keySource != nil { try EncryptedDatabase.check(path, is: .file) }
        let display = ProgressDisplay(PageProgress(), in: context)
        let report = try display.watch(InspectionOptions()) { watched in
            try keySource == nil
                ? inspect(path, with: nil, options, watched) : inspect(path, options, watched)
        }
        let users = [OpenProcess](using: path)
        if json {
            let engine = report.cipher == nil ? nil : EncryptedDatabase.engine
            try context.printJSON(
                report,
                fields: [
                    "mode": report.mode.octalMode, "cipherVersion": engine?.cipherVersion,
                    "engineFaults": engine?.faults.map(\.name),
                    "openIn": users.isEmpty ? nil : users,
                ]
            )
        } else {
            context.output(
                InspectionText(report, users)
                    .text(width: context.reportWidth)
            )
        }
        try report.checkIsSound()
    }

    /// Inspects with the key that the options name. If no key opens the file, reports the last one.
    private func inspect(
        _ path: String,
        _ options: MigrationDatabaseOpenOptions,
        _ watched: InspectionOptions
    ) throws -> FileReport {
        var last: FileReport?
        do {
            return try options.open(timeout: 0) { key in
                let report = try inspect(path, with: key, options, watched)
                last = report
                if report.key == .wrong { throw report.wrongKey }
                return report
            }
        } catch {
            guard let last, !(error is CancellationError) else { throw error }
            return last
        }
    }

    private func inspect(
        _ path: String,
        with key: DatabaseKey?,
        _ options: MigrationDatabaseOpenOptions,
        _ watched: InspectionOptions
    ) throws -> FileReport {
        try EncryptedDatabase.inspect(
            path,
            key: key,
            cipher: options.cipher,
            countsRows: tables,
            checksPages: !quick,
            options: watched
        )
    }
}

/// How many pages are checked.
private struct PageProgress: OperationProgress {
    static let endsAtOnce = true

    private(set) var line: String?

    mutating func note(_ event: InspectionProgress) {
        line = "checking: \(event.checkedPages) of \(event.pageCount) pages"
    }
}

extension FileReport {
    /// Throws if a key was given that doesn't open the file, or if the file is damaged.
    func checkIsSound() throws {
        switch key {
        case .wrong: throw wrongKey
        case .saltNeeded: throw EncryptedDatabaseError.plaintextHeader(path: path, size: nil)
        case .notGiven, .unneeded, .opens: break
        }
        if let damage { throw EncryptedDatabaseError.damaged(path: path, pages: damage.pages) }
        if let cipher, cipher.obstacle == .otherCipher {
            throw EncryptedDatabaseError.otherSettings(path: path, cipher: cipher)
        }
    }

    /// The error of a key that doesn't open the file.
    fileprivate var wrongKey: EncryptedDatabaseError {
        if let multipleCiphers {
            return .multipleCiphers(path: path, ciphers: multipleCiphers, isKeyRight: false)
        }
        return switch kind {
        case .notADatabase: .notADatabase(path: path)
        case _ where hasPlaintextHeader: .wrongKeyOrSalt(path: path)
        default: .wrongKey(path: path)
        }
    }
}
