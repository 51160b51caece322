import ArgumentParser
import KeyStore

/// Completions that a shell asks the tool for: names of migrations, and of keys in the secret store.
///
/// Whatever goes wrong, there are none: a message would land in the middle of a command line.
enum Completion {
    /// The context of the running tool, which ArgumentParser's closures don't get.
    @TaskLocal static var context: CommandContext?

    /// The migrations of the folder that the words or the settings name, or those of the program.
    @Sendable static func migrations(_ words: [String], _: Int, _: String) -> [String] {
        guard let context else { return [] }
        switch context.host.migrations {
        case .runner(let runner): return runner.migrationIdentifiers
        case .folder:
            let options = ["--migrations", "--config"].flatMap { option in
                value(of: option, in: words).map { [option, $0] } ?? []
            }
            let loaded = try? FolderMigrations.parse(options).load(
                from: context.host,
                context: context
            )
            return loaded?.runner.migrationIdentifiers ?? []
        }
    }

    /// The services of the stored keys.
    @Sendable static func services(_ words: [String], _: Int, _: String) -> [String] {
        Set(items(service: nil).map(\.service)).sorted()
    }

    /// The accounts of the service that the words name, or of all.
    @Sendable static func accounts(_ words: [String], _: Int, _: String) -> [String] {
        let service = value(of: "--keychain-service", in: words)
        return Set(items(service: service).compactMap(\.account)).sorted()
    }

    /// The stored items, without their secrets. Nobody is asked to unlock anything.
    private static func items(service: String?) -> [KeyItem] {
        guard let context else { return [] }
        let options = try? KeychainOptions.parse(["--no-prompt", "--keychain-timeout", "1"])
        let store = try? options?.keyStore(in: context, ofService: false)
        return (try? store?.items(service: service, account: nil)) ?? []
    }

    /// The value of an option among the words of a command line, which shells pass as they were
    /// typed.
    private static func value(of option: String, in words: [String]) -> String? {
        for (index, word) in words.enumerated() {
            if word == option, index + 1 < words.count { return unquoted(words[index + 1]) }
            if word.hasPrefix("\(option)=") { return unquoted(word.dropFirst(option.count + 1)) }
        }
        return nil
    }

    private static func unquoted(_ word: some StringProtocol) -> String? {
        let text = word.filter { !"\"'\\".contains($0) }
        return text.isEmpty ? nil : String(text)
    }
}

extension CompletionKind {
    static var migrations: CompletionKind { .custom(Completion.migrations) }
    static var keychainServices: CompletionKind { .custom(Completion.services) }
    static var keychainAccounts: CompletionKind { .custom(Completion.accounts) }
}
