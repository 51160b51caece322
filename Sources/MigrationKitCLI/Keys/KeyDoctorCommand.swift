import ArgumentParser
import Foundation
import MigrationKitKeys
import MigrationKitCommon
import MigrationKitSQLCipher
import SecretService

struct KeyDoctorCommand: DatabaseCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "doctor",
            _superCommandName: Program.name,
            abstract: "Say what keeps the keys here, and why one can't be found.",
            usage: "\(Program.name) key doctor [<database>] [<options>]",
            discussion: """
                Looks at the session bus, the Secret Service, its collections, the session and the \
                other key stores of this machine. If a database is named, looks for its item and \
                tries the key. Keys from files and other sources aren't looked at. Nobody is asked, \
                except by the portal of a sandbox whose keyring is locked, and nothing is changed. Exit code 69: no key can be read or stored, or the \
                item's doesn't open the database.
                """
        )
    }

    @OptionGroup var argument: DatabaseArgument

    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    @OptionGroup(title: "Database") var database: DatabaseFileOptions
    @OptionGroup(title: "Key") var keychain: KeychainOptions
    @OptionGroup(title: "Key") var settings: SettingsOptions

    var config: String? { settings.config }

    var isReport: Bool { true }

    func run(in context: CommandContext) throws {
        context.settingsSource.use(settings.config)
        let store = try DesktopKeyStore.current(
            collection: keychain.collection(in: context),
            timeout: keychain.timeout(in: context),
            allowsPrompt: false
        )
        var findings = store.diagnosis().findings
        let isWell = findings.allSatisfy { $0.state != .problem }
        findings += try record(in: context, store).map { [$0] } ?? []
        if isWell {
            findings += try key(in: context, store).map { [$0] } ?? []
        }
        if json {
            let findings = findings.map { finding -> JSONFields in
                [
                    "subject": finding.subject, "state": finding.state, "text": finding.text,
                    "nextStep": finding.toolsNextStep,
                ]
            }
            try context.printJSON(fields: ["findings": findings])
        } else {
            for finding in findings { context.output(text(of: finding)) }
        }
        if let problem = findings.first(where: { $0.state == .problem }) {
            throw CommandError(
                ErrorCode("noUsableKey", .unavailable),
                "no key can be used: \(problem.text)"
            )
        }
    }

    // MARK: - The Database's Key

    /// Who kept the named database's key when it was opened last; `nil` if that isn't known.
    private func record(
        in context: CommandContext,
        _ store: any KeyStore
    ) throws -> KeyStoreDiagnosis.Finding? {
        guard let path = try database.path(in: context),
            let record = KeyRecord(besideDatabase: path)
        else { return nil }
        let provider = (try? store.provider())?.name
        let text = record.sentence(now: provider)
        guard let way = record.wayBack(from: provider) else { return .init("record", .ok, text) }
        return .init("record", .warning, text, nextStep: "\(way), and this ends.")
    }

    /// What becomes of the key of the named database; `nil` if no item is named.
    private func key(
        in context: CommandContext,
        _ store: any DiagnosableKeyStore
    ) throws -> KeyStoreDiagnosis.Finding? {
        let named = try database.path(in: context)
        let path = named.flatMap { EncryptedDatabase.hasContent($0) ? $0 : nil }
        let missing = path == nil && database.dbPath != nil ? named : nil
        let noDatabase = missing.map { missing in
            KeyStoreDiagnosis.Finding(
                "key",
                .problem,
                "there is no database \(missing)",
                nextStep: "Check the path."
            )
        }
        guard let service = try keychain.service(in: context) else {
            if let noDatabase { return noDatabase }
            return path.map { path in
                .init(
                    "key",
                    .warning,
                    "no item is named, so no key of \(path) was tried",
                    nextStep: "Name it with --keychain-service and --keychain-account."
                )
            }
        }
        let account = try keychain.account(in: context)
        func notOpened(_ text: String, _ path: String) -> KeyStoreDiagnosis.Finding {
            let missing = MissingKeyError(path: path, service: service, account: account)
            let step = "Search for its key, or restore it from a recovery copy:"
            let remedies = missing.remedies
            return .init("key", .problem, text, nextStep: "\(step)\n\(remedies)")
        }
        do {
            let entry = try store.entry(service: service, account: account)
            let item = "the item of \(entry.item.summaryLine)"
            guard let path else {
                guard let missing else { return .init("key", .ok, "\(item) is there") }
                return .init(
                    "key",
                    .warning,
                    "\(item) is there, and no database \(missing)",
                    nextStep: "Check the path. A new database is made by 'migrate'."
                )
            }
            do {
                try open(path, service: service, account: account, in: context)
                return .init("key", .ok, "\(item) opens \(path)")
            } catch let error as EncryptedDatabaseError where error.isWrongKey {
                let modified = entry.item.modified ?? .distantFuture
                let last = KeyRecord(besideDatabase: path)?.stored ?? .distantPast
                let isOlder = last > modified.addingTimeInterval(1)
                let hint = isOlder ? ", and is older than the key that opened it last" : ""
                return notOpened("\(item) does not open \(path)\(hint)", path)
            }
        } catch let error as KeyStoreError where noDatabase != nil && error.isNotFound {
            return noDatabase
        } catch let error as KeyStoreError where path != nil && error.isNotFound {
            return notOpened(error.errorDescription ?? "", path ?? "")
        } catch KeyStoreError.locked(let collection) {
            return .init(
                "key",
                .problem,
                "the collection \"\(collection)\" or its item is locked, so the item can't be read",
                nextStep: "Unlock it in the desktop's password program. KeePassXC asks for each "
                    + "item: answer its question, without --no-prompt."
            )
        } catch let error as any CodedError {
            return .init(
                "key",
                .problem,
                error.errorDescription ?? "\(error)",
                nextStep: error.hint ?? "Check the path."
            )
        }
    }

    /// Opens the database with the item's key as every command does, and closes it again.
    private func open(
        _ path: String,
        service: String,
        account: String?,
        in context: CommandContext
    ) throws {
        try EncryptedDatabase.check(path, is: .encrypted, cipher: database.cipher(in: context))
        var options = try MigrationDatabaseOpenOptions(
            dbPath: path,
            keychainService: service,
            keychainAccount: account,
            keychainCollection: keychain.collection(in: context),
            keychainTimeout: keychain.timeout(in: context),
            allowsPrompt: false,
            cipher: database.cipher(in: context)
        )
        options.purpose = .inspect
        try options.open { key in
            guard let key else { throw MigrationCLIError.noKey }
            _ = try options.cipher(of: path, key: key, in: context)
        }
    }

    // MARK: - Output

    private func text(of finding: KeyStoreDiagnosis.Finding) -> String {
        let mark =
            switch finding.state {
            case .ok: "ok      "
            case .note: "note    "
            case .warning: "warning "
            case .problem: "problem "
            }
        let indent = String(repeating: " ", count: mark.count)
        let step = finding.toolsNextStep?.split(separator: "\n") ?? []
        let lines =
            finding.text.printable[...].wrapped(to: 70) + step.flatMap { $0.wrapped(to: 70) }
        return mark + lines.joined(separator: "\n\(indent)")
    }
}

extension KeyStoreDiagnosis.Finding {
    /// What to do about it, in this tool's words.
    fileprivate var toolsNextStep: String? {
        error?.hint ?? nextStep
    }
}
