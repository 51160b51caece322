import ArgumentParser
import MigrationKitKeys
import MigrationKitCommon

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
        case .runner(let runner): return offered(runner.migrationIdentifiers)
        case .folder:
            let options = ["--migrations", "--config"].flatMap { option in
                value(of: option, in: words).map { [option, $0] } ?? []
            }
            let loaded = try? MigrationsOptions.parse(options).load(in: context)
            return offered(loaded?.runner.migrationIdentifiers ?? [])
        }
    }

    /// The services of the stored keys.
    @Sendable static func services(_ words: [String], _: Int, _: String) -> [String] {
        offered(Set(items(service: nil).map(\.service)).sorted())
    }

    /// The accounts of the service that the words name, or of all.
    @Sendable static func accounts(_ words: [String], _: Int, _: String) -> [String] {
        let service = value(of: "--keychain-service", in: words)
        return offered(Set(items(service: service).compactMap(\.account)).sorted())
    }

    /// The stored items, without their secrets. Nobody is asked to unlock anything.
    private static func items(service: String?) -> [KeyItem] {
        guard let context else { return [] }
        let options = try? KeychainOptions.parse(["--no-prompt", "--keychain-timeout", "1"])
        let store = try? options?.keyStore(in: context, ofService: false)
        return (try? store?.items(service: service, account: nil)) ?? []
    }

    /// The names in the form that the asking shell needs: strangers and other programs have chosen
    /// them, and a shell could run what is in them.
    private static func offered(_ names: [String]) -> [String] {
        // A shell reads a name a line.
        let names = names.filter { !$0.unicodeScalars.contains(where: \.isControl) }
        switch CompletionShell.requesting {
        case .bash:
            // compgen expands its words like a command line. readline quotes what it inserts, except
            // for what could be a variable.
            return names.filter { !$0.contains(/[$`\\]/) }.map(escaped)
        case .zsh:
            // _describe ends a name at a colon. zsh quotes what it inserts, except for what recalls
            // an earlier line, since the script has turned that off for itself.
            return names.filter { !$0.contains("!") }.map {
                $0.replacing("\\", with: "\\\\").replacing(":", with: "\\:")
            }
        default:
            // fish quotes what it inserts.
            return names
        }
    }

    /// A name in which every character stands for itself, with a backslash before those that a shell
    /// could take for something else.
    private static func escaped(_ name: String) -> String {
        name.unicodeScalars.reduce(into: "") { text, scalar in
            let isPlain =
                scalar.value > 0x7F || scalar.properties.isAlphabetic
                || "0123456789_-+.,:/@%".unicodeScalars.contains(scalar)
            text += isPlain ? String(scalar) : "\\\(scalar)"
        }
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
