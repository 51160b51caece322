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
            "How long to wait for the secret store and for the user to unlock it; default: 30.",
            valueName: "seconds"
        )
    )
    var keychainTimeout: Double?

    @Flag(help: "Never ask for a passphrase or for unlocking the secret store.")
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

    /// The key store.
    ///
    /// - Parameter ofService: Whether this is for the item of the named service. The settings
    ///   file's collection applies only to that.
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

    /// The account from the option, the environment, or the settings file if the service is the
    /// file's own.
    func account(in context: CommandContext) throws -> String? {
        try keychainAccount ?? context.environment.nonEmpty("MIGRATIONKIT_KEYCHAIN_ACCOUNT")
            ?? fileBesideService(in: context)?.value(.keychainAccount)
    }

    /// The collection from the option, or the settings file if the service is the file's own.
    func collection(in context: CommandContext) throws -> String? {
        try keychainCollection ?? fileBesideService(in: context)?.value(.keychainCollection)
    }

    /// The settings file, if the service is its own: its other settings apply to no other service.
    private func fileBesideService(in context: CommandContext) throws -> SettingsFile? {
        guard keychainService == nil,
            context.environment.nonEmpty("MIGRATIONKIT_KEYCHAIN_SERVICE") == nil
        else { return nil }
        return try context.settings()
    }

    /// The service and account of a command's item. The service must be named.
    ///
    /// - Throws: ``KeyCommandError/noItemNamed(missing:)``.
    func requiredService(in context: CommandContext) throws -> String {
        guard let service = try service(in: context) else {
            throw KeyCommandError.noItemNamed(missing: ["--keychain-service"])
        }
        return service
    }

    /// The service and account of an item to store. Both must be named.
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
