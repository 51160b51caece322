import ArgumentParser
import Foundation
import MigrationKitKeys
import MigrationKit
import MigrationKitCommon
import MigrationKitFleet
import MigrationKitSQLCipher

/// The options that name where the stores' keys are: those that they have, or new ones.
struct FleetKeySourceOptions<Role: KeyRole>: ParsableArguments {
    @Option(
        name: .customLong(Role.prefix + "key-file-suffix"),
        help: ArgumentHelp(
            "Each \(Role.key) is in a file beside its database: <database><suffix>.",
            valueName: "suffix"
        )
    )
    var keyFileSuffix: String?

    @Option(
        name: .customLong(Role.prefix + "keys-dir"),
        help: ArgumentHelp(
            "Each \(Role.key) is in a file of this folder, named NAME or NAME.key after the store.",
            valueName: "folder"
        ),
        completion: .directory
    )
    var keysDir: String?

    @Option(
        name: .customLong(Role.prefix + "master-key-file"),
        help: ArgumentHelp(
            "Each \(Role.key) is derived from the master key in this file and the store's name ('key "
                + "derive').",
            valueName: "path"
        ),
        completion: .file()
    )
    var masterKeyFile: String?

    @Option(
        name: .customLong(Role.prefix + "key-helper"),
        help: ArgumentHelp(
            "The program that gives each \(Role.key). It runs as long as it is needed; not run by a shell.",
            valueName: "command"
        )
    )
    var keyHelper: String?

    @Flag(
        name: .customLong(Role.prefix + "raw-key"),
        help: ArgumentHelp(
            "The \(Role.key)s are 64 hexadecimal digits (96 with the salt), not passphrases."
        )
    )
    var rawKey = false

    /// What the options name, and the values that name the same.
    private var sources: [(option: String, value: String)] {
        [
            ("key-file-suffix", keyFileSuffix),
            ("keys-dir", keysDir.map { realPath($0) ?? $0 }),
            ("master-key-file", masterKeyFile.map { realPath($0) ?? $0 }),
            ("key-helper", keyHelper),
        ].compactMap { option, value in value.map { (option, $0) } }
    }

    /// The options that name a source.
    var named: [String] { sources.map { "--\(Role.prefix)\($0.option)" } }

    func validate() throws {
        guard keyFileSuffix != "" else {
            throw ValidationError("With no suffix, each database would be its own key.")
        }
    }

    /// Whether both name one source.
    func isSame<Other>(as other: FleetKeySourceOptions<Other>) -> Bool {
        sources.contains { source in other.sources.contains { $0 == source } }
    }

    /// The keys.
    ///
    /// - Parameters:
    ///   - jobs: How many stores are worked on at the same time.
    ///   - timeout: How long a program may take for a key.
    ///   - cancellation: Ends the waiting for a program.
    /// - Returns: `nil` if no option names a source.
    func keys(jobs: Int, timeout: Duration, _ cancellation: Cancellation?) throws -> FleetKeys? {
        let form: DatabaseKey.Form = rawKey ? .rawKey : .passphrase
        if let keyFileSuffix {
            return FleetKeys(source: .besideStores(suffix: keyFileSuffix), isRaw: rawKey) {
                $0.path + keyFileSuffix
            }
        }
        if let keysDir {
            let folder = KeyFolder(path: keysDir, form: form)
            return FleetKeys(source: .keys(folder), isRaw: rawKey) {
                try folder.file(ofStore: $0.name)
            }
        }
        if let masterKeyFile {
            let key = try MasterKey(file: masterKeyFile)
            return FleetKeys(source: .keys(key), isRaw: rawKey) { _ in masterKeyFile }
        }
        if let keyHelper {
            let helper = try KeyHelper(
                keyHelper,
                limit: jobs,
                timeout: timeout,
                form: form,
                isCancelled: { cancellation?.isCancelled == true }
            )
            return FleetKeys(source: .keys(helper), isRaw: rawKey)
        }
        return nil
    }
}

/// The options that say where the stores' keys are.
struct FleetKeyOptions: ParsableArguments {
    @OptionGroup var source: FleetKeySourceOptions<DatabasesKey>

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

    @Flag(help: "The databases are not encrypted.")
    var noEncryption = false

    private var named: [String] {
        source.named + (keychainService == nil ? [] : ["--keychain-service"])
    }

    /// Whether another name of a store would mean another key.
    var goByNames: Bool { source.keyFileSuffix == nil && !noEncryption }

    /// How long a program or the secret store may take for a key.
    var timeout: Duration { .seconds(keyTimeout ?? 30) }

    func validate() throws {
        guard keyTimeout.map({ $0 > 0 && $0 <= 86400 }) ?? true else {
            throw ValidationError(
                "The value for '--key-timeout' must be above 0 and at most 86400 seconds."
            )
        }
    }

    /// Throws unless there is one source.
    ///
    /// - Throws: ``MigrationCLIError``; ``CommandError/noKeys``.
    func check() throws {
        guard named.count <= 1 else { throw MigrationCLIError.severalKeySources(named) }
        if noEncryption, let option = named.first ?? (source.rawKey ? "--raw-key" : nil) {
            throw MigrationCLIError.keyForPlaintext(option: option)
        }
        guard noEncryption || !named.isEmpty else { throw CommandError.noKeys }
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
        if let keys = try source.keys(jobs: jobs, timeout: timeout, cancellation) { return keys }
        guard let keychainService else { return FleetKeys(source: .none, isRaw: false) }
        return FleetKeys(
            source: .keychain(service: keychainService, collection: keychainCollection, timeout),
            isRaw: source.rawKey
        )
    }
}

/// The options that say where the stores' new keys are.
struct NewFleetKeyOptions: ParsableArguments {
    @OptionGroup var source: FleetKeySourceOptions<NewKey>

    /// Whether another name of a store would mean another key.
    var goByNames: Bool { source.keyFileSuffix == nil }

    /// Throws unless there is one source, and it is another than that of the stores' keys.
    ///
    /// - Throws: ``MigrationCLIError``; ``CommandError``.
    func check(beside keys: FleetKeyOptions) throws {
        let named = source.named
        guard named.count <= 1 else { throw MigrationCLIError.severalKeySources(named) }
        guard let option = named.first else { throw CommandError.noNewKeys }
        guard !keys.noEncryption else {
            throw MigrationCLIError.keyForPlaintext(option: option)
        }
        guard !source.isSame(as: keys.source) else { throw CommandError.sameKeys }
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
    /// The file that a store's key depends on; `nil` if it isn't known.
    var file: @Sendable (FleetStore) throws -> String? = { _ in nil }

    /// A store's key; `nil` if it is plaintext.
    ///
    /// - Throws: As ``opening(_:)``; a `KeyStoreError`.
    func key(of store: FleetStore) throws -> DatabaseKey? { try opening(store).key() }

    /// A store's key, once the file that has it is on the disk. A file that a power cut can take back
    /// must not be the only place of a key.
    ///
    /// - Throws: As ``key(of:)``; an `EncryptedDatabaseError` if the file can't be synchronized.
    func durableKey(of store: FleetStore) throws -> DatabaseKey {
        guard let key = try key(of: store) else { throw CommandError.noNewKeys }
        guard let file = try file(store) else { return key }
        let path = realPath(file) ?? file
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        defer { if descriptor >= 0 { close(descriptor) } }
        // A read-only medium has nothing to synchronize, and some can't.
        guard descriptor >= 0, fsync(descriptor) == 0 || [EINVAL, EROFS].contains(errno) else {
            throw EncryptedDatabaseError.inputOutput(path: path, detail: systemReason(errno))
        }
        do {
            try NewFiles(.writing, for: path).synchronize()
        } catch {
            throw EncryptedDatabaseError.inputOutput(path: path, detail: systemReason(error.code))
        }
        return key
    }

    /// How a store is opened.
    ///
    /// - Throws: A `KeySourceError` or a `CancellationError` if there is no key.
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
