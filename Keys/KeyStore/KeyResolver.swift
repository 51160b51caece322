import Glibc

/// Gets the secret that a source names.
///
/// For every source, one trailing newline is dropped, an empty secret is an error, and the limit is
/// 64 KiB. The bytes need not be UTF-8 and may include NUL: SQLCipher gets their number.
/// (Environment variables and command-line arguments end at a NUL.)
///
/// ```swift
/// let resolver = KeyResolver { SecretServiceKeyStore() }
/// let key = try resolver.key(
///     from: .keyStore(service: "com.example.Notes", account: "main"), form: .passphrase)
/// ```
public struct KeyResolver: Sendable {
    private let keyStore: @Sendable () throws -> any KeyStore

    /// Makes a resolver.
    ///
    /// - Parameter keyStore: Creates the key store. Called only if a source names it, so that
    ///   nothing else needs a bus.
    public init(keyStore: @escaping @Sendable () throws -> any KeyStore) {
        self.keyStore = keyStore
    }

    /// The secret from a source.
    ///
    /// - Throws: ``KeySourceError``; ``KeyStoreError`` from a key store.
    public func secret(from source: KeySource) throws -> Secret {
        try source.secret(keyStore: keyStore)
    }

    /// The key from a source.
    ///
    /// - Parameters:
    ///   - source: Where the key comes from.
    ///   - form: Whether the secret is a passphrase, or a raw key's 64 or 96 hexadecimal digits. If
    ///     this library stored the item, the form that the item records takes precedence.
    /// - Throws: ``KeySourceError``; ``KeyStoreError`` from a key store.
    public func key(from source: KeySource, form: DatabaseKey.Form) throws -> DatabaseKey {
        if case .keyStore(let service, let account) = source {
            let entry = try keyStore().entry(service: service, account: account)
            return try Self.key(of: entry, named: source, form: form)
        }
        return try Self.key(secret(from: source), named: source, form: form)
    }

    /// The key from an item that was already read.
    ///
    /// - Parameters:
    ///   - entry: The item.
    ///   - source: The source's name in errors.
    ///   - form: The secret's form if the item doesn't record one.
    /// - Throws: ``KeySourceError``.
    package static func key(
        of entry: KeyEntry,
        named source: KeySource,
        form: DatabaseKey.Form
    ) throws -> DatabaseKey {
        try key(entry.text(named: source), named: source, form: entry.item.form ?? form)
    }

    static func key(
        _ secret: Secret,
        named source: KeySource,
        form: DatabaseKey.Form
    ) throws -> DatabaseKey {
        do {
            return try DatabaseKey(secret, form: form)
        } catch let reason as DatabaseKeyError {
            throw KeySourceError.unusableKey(source: "\(source)", reason: reason)
        }
    }
}

extension KeyResolver {
    /// The key source if none is named, from this process's own environment.
    ///
    /// In this order: the file `migrationkit-password` in the service manager's
    /// `CREDENTIALS_DIRECTORY`, if it exists; `MIGRATIONKIT_PASSWORD_FILE`;
    /// `MIGRATIONKIT_PASSWORD`; a question on the terminal, if there is one.
    ///
    /// - Parameter promptFor: What the key is for, such as the database's file name; nil if nobody
    ///   may be asked.
    /// - Returns: The source, or nil if there is none.
    public static func implicitSource(promptFor: String?) -> KeySource? {
        implicitSource(promptFor: promptFor) { name in
            guard let value = getenv(name) else { return nil }
            return Secret(copying: UnsafeRawBufferPointer(start: value, count: strlen(value)))
        }
    }

    /// The key source if none is named, from the given environment; otherwise as
    /// ``implicitSource(promptFor:)``.
    public static func implicitSource(
        environment: [String: String],
        promptFor: String?
    ) -> KeySource? {
        implicitSource(promptFor: promptFor) { environment[$0].map(Secret.init(utf8:)) }
    }

    /// The key source if none is named, from an environment that was saved earlier; otherwise as
    /// ``implicitSource(promptFor:)``.
    ///
    /// A program that wipes its password variables at its start keeps them in secrets until this
    /// function needs them.
    ///
    /// - Parameters:
    ///   - promptFor: What the key is for; nil if nobody may be asked.
    ///   - value: The value of a variable, or nil if it isn't set.
    public static func implicitSource(
        promptFor: String?,
        value: (_ name: String) -> Secret?
    ) -> KeySource? {
        // A relative folder would depend on the process's working folder.
        if let folder = value("CREDENTIALS_DIRECTORY")?.unwipableText, folder.hasPrefix("/") {
            let path = folder + "/migrationkit-password"
            var status = stat()
            if lstat(path, &status) == 0 { return .credentialsFile(path: path) }
        }
        if let path = value("MIGRATIONKIT_PASSWORD_FILE")?.unwipableText {
            return .file(path: path)
        }
        if let password = value("MIGRATIONKIT_PASSWORD") {
            return .environment(variable: "MIGRATIONKIT_PASSWORD", value: password)
        }
        guard let promptFor, TerminalPrompt.isPossible else { return nil }
        return .prompt("Passphrase for \(promptFor): ")
    }
}

// MARK: - Key Source

/// Where a key comes from.
///
/// Its description names the source for messages and never shows a secret.
public enum KeySource: Sendable, Equatable {
    /// The value of `--password`.
    case password(Secret)
    /// A file that only its owner can read.
    case file(path: String)
    /// Standard input, to its end.
    case standardInput
    /// An open descriptor, to its end.
    case fileDescriptor(Int32)
    /// The output of a command. It is split into words as in a shell, but no shell runs it.
    case command(String)
    /// The value of an environment variable.
    case environment(variable: String, value: Secret)
    /// A file in the service manager's credentials folder; the name alone if it has given none.
    case credentialsFile(path: String)
    /// An item of the key store.
    case keyStore(service: String, account: String?)
    /// A question on the terminal, with this text.
    case prompt(String)
}

extension KeySource: CustomStringConvertible {
    /// The source's name, worded to follow "from": `standard input`, `the file "key.txt"`.
    public var description: String {
        switch self {
        case .password: "--password"
        case .file(let path): "the file \"\(path)\""
        case .standardInput: "standard input"
        case .fileDescriptor(let number): "the descriptor \(number)"
        case .command(let command):
            // The arguments may contain secrets.
            if let program = try? ShellWords.split(command).first {
                "the command \"\(program)\""
            } else {
                "the password command"
            }
        case .environment(let variable, _): "the environment variable \(variable)"
        case .credentialsFile(let path): "the credential \"\(path)\""
        case .keyStore(let service, let account?):
            "secret store, service \"\(service)\", username \"\(account)\""
        case .keyStore(let service, nil): "secret store, service \"\(service)\""
        case .prompt: "the terminal"
        }
    }
}

extension KeySource {
    /// Gets the secret.
    ///
    /// - Parameter keyStore: Makes the key store.
    /// - Throws: ``KeySourceError``; ``KeyStoreError`` from a key store.
    func secret(keyStore: () throws -> any KeyStore) throws -> Secret {
        switch self {
        case .password(let secret), .environment(_, let secret):
            try SecretReader.checked(secret, named: self)
        case .file(let path):
            try SecretFile.read(path, trust: .ownerOnly, named: self)
        case .credentialsFile(let name) where !name.hasPrefix("/"):
            throw KeySourceError.noCredential(name: name)
        case .credentialsFile(let path):
            try SecretFile.read(path, trust: .anyOwner, named: self)
        case .standardInput:
            try SecretReader.readOpen(STDIN_FILENO, named: self)
        case .fileDescriptor(let number):
            try SecretReader.readOpen(number, named: self)
        case .command(let command):
            try SecretCommand.run(command, named: self)
        case .prompt(let text):
            try TerminalPrompt.read(text, named: self)
        case .keyStore(let service, let account):
            try keyStore().entry(service: service, account: account).text(named: self)
        }
    }

    /// The descriptor that the secret is read from, if this process has it open already.
    package var descriptor: Int32? {
        switch self {
        case .standardInput: STDIN_FILENO
        case .fileDescriptor(let number): number
        case .file(let path): SecretFile.descriptorNumber(path)
        default: nil
        }
    }
}
