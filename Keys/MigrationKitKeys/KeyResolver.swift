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
        do {
            let form = try entry.item.form(assuming: form)
            return try key(entry.text(named: source), named: source, form: form)
        } catch let reason as DatabaseKeyError {
            throw KeySourceError.unusableKey(source: "\(source)", reason: reason)
        }
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
