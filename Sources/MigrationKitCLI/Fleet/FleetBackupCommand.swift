import ArgumentParser
import Foundation
import MigrationKitCommon
import MigrationKitFleet
import MigrationKitSQLCipher

struct FleetBackupCommand<Migrations: MigrationsOptions>: FleetJob {
    var deed: String { "backup" }

    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "backup",
            _superCommandName: Migrations.programName,
            abstract: "Copy many databases into a folder while other programs use them.",
            usage: """
                \(Migrations.programName) fleet backup --stores <pattern> --name-from <folder>
                  --master-key-file <path> --output-dir <folder> [<options>]
                """,
            discussion: """
                Each copy is made and compared as by 'backup', and has its database's key. Its \
                name is the store's, with the database's extension. An existing file is never \
                replaced, so start with an empty folder. After an interrupted run, --skip-existing \
                makes only the missing copies.
                """
        )
    }

    @Option(
        help: ArgumentHelp(
            "The folder of the copies. Folders that are missing are made.",
            valueName: "folder"
        ),
        completion: .directory
    )
    var outputDir: String

    @Flag(help: "Leave out databases whose copy exists.")
    var skipExisting = false

    @OptionGroup var waiting: LockTimeoutOptions

    @OptionGroup var fleet: FleetOptions
    @OptionGroup(title: "Databases") var settings: SettingsOptions

    func validate() throws {
        try checkNotEmpty(outputDir, "--output-dir")
    }

    func run(in context: CommandContext) throws {
        context.settingsSource.use(settings.config)
        let timeout = try waiting.lockTimeout(in: context)
        try runFleet(in: context) { visit, record in
            let output = try place(of: visit.store)
            record.output = output
            if skipExisting, access(output, F_OK) == 0 { return }
            let opening = try visit.opening()
            let form: DatabaseForm =
                try opening.key().map { .encrypted($0, cipher: opening.cipher) } ?? .plaintext()
            var options = DatabaseBackup.Options(timeout: visit.timeout(timeout))
            options.cancellation = visit.cancellation
            let report =
                try DatabaseBackup(visit.store.path, to: output, form: form, options: options).run()
            if !report.findings.isEmpty { record.findings = report.findings }
        }
    }

    /// The path of a store's copy. Its folder is made. Every user may be able to write to the named
    /// one, so below it no link is followed, and no folder is used that another user may have put
    /// there.
    private func place(of store: FleetStore) throws -> String {
        let parts = store.name.split(separator: "/").map(String.init)
        guard !parts.isEmpty, !parts.contains("."), !parts.contains("..") else {
            throw UnusableName(name: store.name)
        }
        var folder = outputDir
        do {
            try FileManager.default.createDirectory(
                atPath: folder,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw MigrationCLIError.cannotWrite(path: folder, reason: error.localizedDescription)
        }
        var parent = stat()
        guard stat(outputDir, &parent) == 0 else {
            throw MigrationCLIError.cannotWrite(path: outputDir, reason: systemReason(errno))
        }
        let named = parent
        for part in parts.dropLast() {
            folder += "/\(part)"
            var status = stat()
            guard mkdir(folder, 0o700) == 0 || errno == EEXIST, lstat(folder, &status) == 0 else {
                throw MigrationCLIError.cannotWrite(path: folder, reason: systemReason(errno))
            }
            guard status.st_mode & S_IFMT == S_IFDIR else {
                throw MigrationCLIError.cannotWrite(path: folder, reason: "it is not a folder")
            }
            let isOfAnother = ![geteuid(), named.st_uid, 0].contains(status.st_uid)
            guard !isOfAnother || parent.st_mode & S_IWOTH == 0 else {
                throw MigrationCLIError.cannotWrite(path: folder, reason: "it is another user's")
            }
            parent = status
        }
        let ending = URL(fileURLWithPath: store.path).pathExtension
        return "\(folder)/\(parts.last ?? "")" + (ending.isEmpty ? "" : ".\(ending)")
    }
}

/// A store's name can't be that of a file in a folder.
private struct UnusableName: Error {
    let name: String
}

extension UnusableName: CodedError {
    var errorDescription: String? { "the store's name '\(name)' can't be that of a copy" }

    var recoverySuggestion: String? {
        "Give the store another name with \"account\" in a list of JSON lines."
    }

    var code: ErrorCode { ErrorCode("unusableStoreName", .dataError) }
}
