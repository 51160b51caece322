import ArgumentParser
import Foundation
import KeyStore
import MigrationKit
import MigrationKitFleet
import SecretService

/// The options that say where the stores' keys are.
struct FleetKeyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Each key is in a file beside its database: <database><suffix>.",
            valueName: "suffix"
        )
    )
    var keyFileSuffix: String?

    @Option(
        help: ArgumentHelp(
            "Each key is in a file of this folder, named NAME or NAME.key after the store.",
            valueName: "folder"
        ),
        completion: .directory
    )
    var keysDir: String?

    @Option(
        help: ArgumentHelp(
            "Each key is derived from the master key in this file and the store's name ('key "
                + "derive').",
            valueName: "path"
        ),
        completion: .file()
    )
    var masterKeyFile: String?

    @Option(
        help: ArgumentHelp(
            "The program that gives each key. It runs as long as it is needed; not run by a shell.",
            valueName: "command"
        )
    )
    var keyHelper: String?

    @Option(
        help: ArgumentHelp(
            "Each key is in the desktop's secret store, under this service and the store's name.",
            valueName: "service"
        )
    )
    var keychainService: String?

    @Option(
        help: ArgumentHelp("The collection to search; default: all.", valueName: "name")
    )
    var keychainCollection: String?

    @Option(
        help: ArgumentHelp(
            "How long the program or the secret store may take for a key; default: 30.",
            valueName: "seconds"
        )
    )
    var keyTimeout: Double?

    @Flag(help: "The keys are 64 hexadecimal digits (96 with the salt), not passphrases.")
    var rawKey = false

    @Flag(help: "The databases are not encrypted.")
    var noEncryption = false

    private var named: [String] {
        [
            keyFileSuffix.map { _ in "--key-file-suffix" }, keysDir.map { _ in "--keys-dir" },
            masterKeyFile.map { _ in "--master-key-file" }, keyHelper.map { _ in "--key-helper" },
            keychainService.map { _ in "--keychain-service" },
        ].compactMap { $0 }
    }

    /// Whether another name of a store would mean another key.
    var goByNames: Bool { keyFileSuffix == nil && !noEncryption }

    func validate() throws {
        guard keyTimeout.map({ $0 > 0 && $0 <= 86400 }) ?? true else {
            throw ValidationError(
                "The value for '--key-timeout' must be above 0 and at most 86400 seconds."
            )
        }
        guard keyFileSuffix != "" else {
            throw ValidationError("With no suffix, each database would be its own key.")
        }
    }

    /// Throws unless there is one source.
    ///
    /// - Throws: ``MigrationCLIError``; ``FleetCommandError/noKeys``.
    func check() throws {
        guard named.count <= 1 else { throw MigrationCLIError.severalKeySources(named) }
        if noEncryption, let option = named.first ?? (rawKey ? "--raw-key" : nil) {
            throw MigrationCLIError.keyForPlaintext(option: option)
        }
        guard noEncryption || !named.isEmpty else { throw FleetCommandError.noKeys }
        guard keychainService != nil || keychainCollection == nil else {
            throw MigrationCLIError.collectionWithoutService
        }
    }

    /// The keys.
    ///
    /// - Parameters:
    ///   - jobs: How many stores are worked on at the same time.
    ///   - cancellation: Ends the waiting for a program.
    func keys(jobs: Int, _ cancellation: Cancellation?) throws -> FleetKeys {
        let form: DatabaseKey.Form = rawKey ? .rawKey : .passphrase
        let timeout = Duration.seconds(keyTimeout ?? 30)
        let source: FleetKeys.Source =
            if let keyFileSuffix {
                .besideStores(suffix: keyFileSuffix)
            } else if let keysDir {
                .keys(KeyFolder(path: keysDir, form: form))
            } else if let masterKeyFile {
                .keys(try MasterKey(file: masterKeyFile))
            } else if let keyHelper {
                .keys(
                    try KeyHelper(
                        keyHelper,
                        limit: jobs,
                        timeout: timeout,
                        form: form,
                        isCancelled: { cancellation?.isCancelled == true }
                    )
                )
            } else if let keychainService {
                .keychain(service: keychainService, collection: keychainCollection, timeout)
            } else {
                .none
            }
        return FleetKeys(source: source, isRaw: rawKey)
    }
}

/// Where the stores' keys are.
struct FleetKeys: Sendable {
    enum Source: Sendable {
        /// The stores are plaintext.
        case none
        case besideStores(suffix: String)
        case keychain(service: String, collection: String?, Duration)
        case keys(any StoreKeys)
    }

    let source: Source
    let isRaw: Bool

    /// How a store is opened.
    ///
    /// - Throws: A `StoreKeysError`, a `KeySourceError` or a `CancellationError` if there is no key.
    func opening(_ store: FleetStore) throws -> MigrationDatabaseOpenOptions {
        switch source {
        case .none:
            MigrationDatabaseOpenOptions(dbPath: store.path, isPlaintext: true)
        case .besideStores(let suffix):
            MigrationDatabaseOpenOptions(
                dbPath: store.path,
                otherKeySource: .file(path: store.path + suffix),
                isRawKey: isRaw
            )
        case .keychain(let service, let collection, let timeout):
            // A fleet asks nobody.
            MigrationDatabaseOpenOptions(
                dbPath: store.path,
                keychainService: service,
                keychainAccount: store.name,
                isRawKey: isRaw,
                keychainCollection: collection,
                keychainTimeout: timeout,
                allowsPrompt: false
            )
        case .keys(let keys):
            try opening(store, with: keys.key(ofStore: store.name))
        }
    }

    private func opening(
        _ store: FleetStore,
        with key: DatabaseKey
    ) -> MigrationDatabaseOpenOptions {
        MigrationDatabaseOpenOptions(
            dbPath: store.path,
            otherKeySource: .password(key.stored()),
            isRawKey: key.form == .rawKey
        )
    }
}
