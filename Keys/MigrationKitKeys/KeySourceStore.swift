import Glibc
import MigrationKitCommon

/// A key store with one key that is made elsewhere: a file, a systemd credential, the output of a
/// command, a vault. A server opens its store with it as a desktop does with the Secret Service.
///
/// ```swift
/// let store = EncryptedStore(
///     path: "/var/lib/notes/notes.db",
///     key: KeySourceStore(.credential("notes-key"), form: .rawKey)
/// )
/// ```
///
/// The key is read anew whenever it is asked for, so that a replaced file is noticed. Standard input
/// and open descriptors can be read only once; their key is kept in locked memory.
///
/// The store can't be written. A source without a key is the source's own error and never "not
/// found", so no key is made in its place.
public struct KeySourceStore: KeyStore {
    /// The service of the only item.
    public let service: String
    /// The account of the only item.
    public let account: String

    /// The source; nil if the key comes from a closure.
    package let source: KeySource?
    package let form: DatabaseKey.Form
    private let name: String
    private let read: @Sendable () throws -> DatabaseKey

    /// Makes a key store of a key source.
    ///
    /// - Parameters:
    ///   - source: Where the key comes from. It is read when the key is first needed. It can't be
    ///     another key store's item: give that key store itself.
    ///   - form: Whether the secret is a passphrase, or a raw key's 64 or 96 hexadecimal digits.
    ///   - service: The service of the only item.
    ///   - account: The account of the only item.
    public init(
        _ source: KeySource,
        form: DatabaseKey.Form = .passphrase,
        service: String = "migrationkit",
        account: String = "main"
    ) {
        let resolver = KeyResolver { throw KeyStoreError.noService }
        let kept = source.descriptor == nil ? nil : KeptKey()
        self.init(name: "\(source)", source: source, form: form, service, account) {
            guard let kept else { return try resolver.key(from: source, form: form) }
            return try kept.get { try resolver.key(from: source, form: form) }
        }
    }

    /// Makes a key store of a function, such as a call of a vault.
    ///
    /// - Parameters:
    ///   - name: The source's name in messages, worded to follow "from": `the vault`.
    ///   - service: The service of the only item.
    ///   - account: The account of the only item.
    ///   - key: Gets the key. May block, and may be called by several threads at a time.
    public init(
        named name: String,
        service: String = "migrationkit",
        account: String = "main",
        key: @escaping @Sendable () throws -> DatabaseKey
    ) {
        self.init(name: name, source: nil, form: .passphrase, service, account, read: key)
    }

    private init(
        name: String,
        source: KeySource?,
        form: DatabaseKey.Form,
        _ service: String,
        _ account: String,
        read: @escaping @Sendable () throws -> DatabaseKey
    ) {
        self.name = name
        self.source = source
        self.form = form
        self.service = service
        self.account = account
        self.read = read
    }

    /// The only item, if it matches. The key isn't read.
    public func items(service: String?, account: String?) -> [KeyItem] {
        matches(service, account) ? [item(form: nil)] : []
    }

    /// The only item, with its key.
    ///
    /// - Throws: ``KeySourceError`` if the source gives no key;
    ///   ``KeyStoreError/itemNotFound(service:account:)`` if another item is asked for.
    public func entry(service: String, account: String?) throws -> KeyEntry {
        guard matches(service, account) else {
            throw KeyStoreError.itemNotFound(service: service, account: account)
        }
        let key = try read()
        return KeyEntry(item: item(form: key.form), secret: key.stored())
    }

    /// - Throws: ``KeyStoreError/readOnly(source:)``.
    public func store(
        _ key: DatabaseKey,
        service: String,
        account: String,
        label: String?,
        replacing: Bool
    ) throws {
        throw KeyStoreError.readOnly(source: name)
    }

    /// - Throws: ``KeyStoreError/readOnly(source:)``.
    public func delete(service: String, account: String?) throws -> KeyItem {
        throw KeyStoreError.readOnly(source: name)
    }

    /// - Throws: ``KeyStoreError/readOnly(source:)``.
    public func checkStorable(_ key: DatabaseKey) throws {
        throw KeyStoreError.readOnly(source: name)
    }

    private func matches(_ service: String?, _ account: String?) -> Bool {
        (service ?? self.service) == self.service && (account ?? self.account) == self.account
    }

    private func item(form: DatabaseKey.Form?) -> KeyItem {
        KeyItem(
            identifier: name,
            service: service,
            account: account,
            label: name,
            collection: name,
            attributes: [:],
            form: form
        )
    }
}

/// The key of a source that can be read only once.
private final class KeptKey: Sendable {
    private let key = Locked<DatabaseKey?>(nil)

    func get(_ read: () throws -> DatabaseKey) throws -> DatabaseKey {
        try key.withLock { key in
            if let key { return key }
            let made = try read()
            key = made
            return made
        }
    }
}

extension KeySource {
    /// A credential that systemd hands to a service: `LoadCredential=NAME:PATH` or
    /// `LoadCredentialEncrypted=NAME:PATH` in its unit.
    ///
    /// Outside of such a service, there is no folder of credentials, and reading throws
    /// ``KeySourceError/noCredential(name:)``.
    /// <https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html#Credentials>
    ///
    /// - Parameter name: The credential's name.
    public static func credential(_ name: String) -> KeySource {
        let folder = getenv("CREDENTIALS_DIRECTORY").map { String(cString: $0) + "/" }
        return .credentialsFile(path: (folder ?? "") + name)
    }
}
