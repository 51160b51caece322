import ArgumentParser
import KeyStore
import SecretService

/// The options that name an item of the Secret Service, and say how to ask for it.
struct KeychainOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The key's service in the desktop's secret store (or MIGRATIONKIT_KEYCHAIN_SERVICE).",
            valueName: "service"
        )
    )
    var keychainService: String?

    @Option(
        help: ArgumentHelp(
            "The account under that service (or MIGRATIONKIT_KEYCHAIN_ACCOUNT).",
            valueName: "account"
        )
    )
    var keychainAccount: String?

    @Option(
        help: ArgumentHelp(
            "The collection to search and store in; default: search all, store in the default one.",
            valueName: "name"
        )
    )
    var keychainCollection: String?

    @Option(
        help: ArgumentHelp(
            "How long to wait for the secret store and for its unlocking; default: 30.",
            valueName: "seconds"
        )
    )
    var keychainTimeout: Double?

    @Flag(help: "Never ask, neither to unlock the secret store nor for a passphrase.")
    var noPrompt = false

    func validate() throws {
        // Capped at 24 h to avoid overflow.
        guard keychainTimeout.map({ $0 > 0 && $0 <= 86400 }) ?? true else {
            throw ValidationError(
                "The value for '--keychain-timeout' must be above 0 and at most 86400 seconds."
            )
        }
    }

    static let defaultTimeout = 30.0

    /// The time limit of each call.
    func timeout(in context: CommandContext) throws -> Duration {
        .seconds(try context.value(\.keychainTimeout, of: self) ?? Self.defaultTimeout)
    }

    /// The store that is asked.
    ///
    /// - Parameter ofService: Whether the item of the named service is meant, for which alone the
    ///   settings file names a collection.
    func keyStore(
        in context: CommandContext,
        ofService: Bool = true
    ) throws -> SecretServiceKeyStore {
        SecretServiceKeyStore(
            collection: ofService ? try collection(in: context) : keychainCollection,
            timeout: try timeout(in: context),
            allowsPrompt: !noPrompt
        )
    }

    /// The service that is named by the option, the environment, or the settings file.
    func service(in context: CommandContext) throws -> String? {
        try context.value(\.keychainService, of: self)
    }

    /// The account that is named by the option or the environment, or beside its service in the
    /// settings file.
    func account(in context: CommandContext) throws -> String? {
        try keychainAccount ?? context.environment.nonEmpty("MIGRATIONKIT_KEYCHAIN_ACCOUNT")
            ?? fileBesideService(in: context)?.value(.keychainAccount)
    }

    /// The collection that is named by the option, or beside its service in the settings file.
    func collection(in context: CommandContext) throws -> String? {
        try keychainCollection ?? fileBesideService(in: context)?.value(.keychainCollection)
    }

    /// The settings file, where the service is its own: what it says beside is about no other's.
    private func fileBesideService(in context: CommandContext) throws -> SettingsFile? {
        guard keychainService == nil,
            context.environment.nonEmpty("MIGRATIONKIT_KEYCHAIN_SERVICE") == nil
        else { return nil }
        return try context.settings()
    }

    /// The item that a command works on, which has to be named.
    ///
    /// - Throws: ``KeyCommandError/noItemNamed(missing:)``.
    func requiredService(in context: CommandContext) throws -> String {
        guard let service = try service(in: context) else {
            throw KeyCommandError.noItemNamed(missing: ["--keychain-service"])
        }
        return service
    }

    /// The item that a command stores, of which both names are needed.
    ///
    /// - Throws: ``KeyCommandError/noItemNamed(missing:)``.
    func requiredItem(
        in context: CommandContext
    ) throws -> (service: String, account: String) {
        let (service, account) = try (service(in: context), account(in: context))
        guard let service, let account else {
            throw KeyCommandError.noItemNamed(
                missing: [
                    service == nil ? "--keychain-service" : nil,
                    account == nil ? "--keychain-account" : nil,
                ].compactMap { $0 }
            )
        }
        return (service, account)
    }
}
