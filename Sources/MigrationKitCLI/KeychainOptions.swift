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
            "The collection to look and store in; default: look in all, store in the default one.",
            valueName: "name"
        )
    )
    var keychainCollection: String?

    @Option(
        help: ArgumentHelp(
            "How long to wait for the secret store and for who unlocks it; default: 30.",
            valueName: "seconds"
        )
    )
    var keychainTimeout: Double?

    @Flag(help: "Ask nobody: neither to unlock the secret store nor for a passphrase.")
    var noPrompt = false

    func validate() throws {
        // A day is as good as for ever, and a number that can still be counted with.
        guard keychainTimeout.map({ $0 > 0 && $0 <= 86400 }) ?? true else {
            throw ValidationError(
                "The value for '--keychain-timeout' must be above 0 and at most 86400 seconds."
            )
        }
    }

    /// The time limit of each call.
    var timeout: Duration { .seconds(keychainTimeout ?? 30) }

    /// The store that is asked.
    var keyStore: SecretServiceKeyStore {
        SecretServiceKeyStore(
            collection: keychainCollection,
            timeout: timeout,
            allowsPrompt: !noPrompt
        )
    }

    /// The service that is named by the option, or by the environment.
    func service(in environment: ProcessEnvironment) -> String? {
        keychainService ?? environment.nonEmpty("MIGRATIONKIT_KEYCHAIN_SERVICE")
    }

    /// The account that is named by the option, or by the environment.
    func account(in environment: ProcessEnvironment) -> String? {
        keychainAccount ?? environment.nonEmpty("MIGRATIONKIT_KEYCHAIN_ACCOUNT")
    }

    /// The item that a command works on, which has to be named.
    ///
    /// - Throws: ``KeyCommandError/noItemNamed(missing:)``.
    func requiredService(in environment: ProcessEnvironment) throws -> String {
        guard let service = service(in: environment) else {
            throw KeyCommandError.noItemNamed(missing: ["--keychain-service"])
        }
        return service
    }

    /// The item that a command stores, of which both names are needed.
    ///
    /// - Throws: ``KeyCommandError/noItemNamed(missing:)``.
    func requiredItem(
        in environment: ProcessEnvironment
    ) throws -> (service: String, account: String) {
        let (service, account) = (service(in: environment), account(in: environment))
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
