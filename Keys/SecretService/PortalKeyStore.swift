import FoundationEssentials
import Glibc
import MigrationKitKeys
import MigrationKitCommon

/// A file of keys that a secret of the desktop's portal opens: a key store for programs in a sandbox,
/// from which the Secret Service can't be reached.
///
/// The portal (`org.freedesktop.portal.Secret`) gives each sandboxed program a secret of its own, which
/// the desktop's keyring keeps. It seals the file by AES-256-GCM. Other programs in other sandboxes
/// can't open the file, even if they can read it.
///
/// A change replaces the file as a whole, and is on the disk when the call returns. Several processes may use
/// the same file.
///
/// The portal asks the user itself when the keyring is locked, whether this program would or not.
public struct PortalKeyStore: KeyStore {
    /// The file with the sealed keys.
    public let file: String
    private let timeout: Duration
    private var isCancelled: @Sendable () -> Bool = { false }

    /// Describes the store. Nothing is contacted or made yet.
    ///
    /// - Parameters:
    ///   - file: The file with the sealed keys; nil for `migrationkit/portal-keys` in the folder for
    ///     data (`$XDG_DATA_HOME`, by default `~/.local/share`), which in a sandbox is the program's own.
    ///   - timeout: How long each call may take, including the user's answer.
    public init(file: String? = nil, timeout: Duration = .seconds(30)) {
        self.file = file ?? UserFolder.data + "/migrationkit/portal-keys"
        self.timeout = timeout
    }

    /// The items that match, without their secrets, oldest first.
    ///
    /// - Throws: `KeyStoreError`.
    public func items(service: String?, account: String?) throws -> [KeyItem] {
        try entries(isCancelled).matches(service, account).map(\.item)
    }

    /// The one item that matches, with its secret.
    ///
    /// - Throws: `KeyStoreError`.
    public func entry(service: String, account: String?) throws -> KeyEntry {
        try entries(isCancelled).only(service, account)
    }

    /// Stores a key.
    ///
    /// - Throws: `KeyStoreError`.
    public func store(
        _ key: DatabaseKey,
        service: String,
        account: String,
        label: String?,
        replacing: Bool
    ) throws {
        try change { entries in
            try entries.store(
                key,
                service: service,
                account: account,
                label: label ?? defaultLabel(service: service, account: account),
                replacing: replacing
            )
        }
    }

    /// Deletes the one item that matches.
    ///
    /// - Throws: `KeyStoreError`.
    @discardableResult
    public func delete(service: String, account: String?) throws -> KeyItem {
        try change { try $0.delete(service: service, account: account) }
    }

    /// The portal. What it has given out is as durable as the keyring behind it.
    public func provider() throws -> KeyStoreProvider? {
        try checkPortal()
        return KeyStoreProvider(name: "Secret portal", run: "", hasWritten: true)
    }

    // MARK: - The File

    /// Everything in the file. Without a file, the portal isn't asked.
    private func entries(_ isCancelled: @Sendable () -> Bool) throws -> KeyEntries {
        guard let bytes = try sealed() else { return KeyEntries(collection: collection) }
        return try SealedItems.open(
            bytes,
            of: file,
            with: secret(isCancelled),
            collection: collection
        )
    }

    private var collection: String { "portal" }

    private func change<Value>(_ body: (inout KeyEntries) throws -> Value) throws -> Value {
        do {
            try makeFolder()
            let lock = FileLock(beside: file, suffix: ".lock")
            return try lock.withLock(timeout: timeout.seconds) {
                let bytes = try sealed()
                let secret = try secret { false }
                var entries = KeyEntries(collection: collection)
                if let bytes {
                    entries = try SealedItems.open(
                        bytes,
                        of: file,
                        with: secret,
                        collection: collection
                    )
                } else {
                    // What comes from a portal that gives another secret each time, or a part of one,
                    // would be lost.
                    guard try self.secret({ false }) == secret else {
                        throw KeyStoreError.failure(
                            message: "the portal gave two different secrets"
                        )
                    }
                }
                let value = try body(&entries)
                let sealed = try SealedItems.seal(entries.all, with: secret)
                guard sealed.count <= SealedItems.limit else {
                    throw failure(
                        "\(file) would get too large: delete former keys that no backup needs"
                    )
                }
                try NewFile.write(sealed, to: file, mode: 0o600, replaces: true)
                return value
            }
        } catch FileLock.Failure.held {
            throw failure("another process is using \(file)")
        } catch FileLock.Failure.refused(let code) {
            throw failure("\(file): \(FileLock.Failure.reason(for: code, at: file + ".lock"))")
        } catch let error as NewFileError {
            throw failure("\(error.path): \(systemReason(error.code))")
        }
    }

    private func failure(_ message: String) -> KeyStoreError { .failure(message: message) }

    /// The file's content; `nil` if there is no file.
    ///
    /// - Throws: `KeyStoreError`, also if it can't be a file of keys, whatever the secret is.
    func sealed() throws -> [UInt8]? {
        let descriptor = Glibc.open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            switch errno {
            case ENOENT: return nil
            case ELOOP: throw failure("\(file) is a symbolic link")
            case let code: throw failure("\(file) can't be read: \(systemReason(code))")
            }
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw failure("\(file) is not a file")
        }
        guard status.st_size <= SealedItems.limit else {
            throw KeyStoreError.unreadableKeys(file: file)
        }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        do {
            let count = try bytes.withUnsafeMutableBytes { memory in
                try moveAll(memory.count) { done, rest in
                    read(descriptor, memory.baseAddress.map { $0 + done }, rest)
                }
            }
            guard SealedItems.isOne(bytes.prefix(count)) else {
                throw KeyStoreError.unreadableKeys(file: file)
            }
            return Array(bytes.prefix(count))
        } catch let error as POSIXError {
            throw failure("\(file) can't be read: \(error.reason)")
        }
    }

    /// Makes the file's folder, which only the user may enter, and has its name reach the disk.
    private func makeFolder() throws {
        func make(_ folder: String) throws(NewFileError) {
            guard !folder.isEmpty, access(folder, F_OK) != 0 else { return }
            let parent = NewFiles(.writing, for: folder)
            try make(parent.folder)
            try parent.synchronize(folder) { () throws(NewFileError) in
                guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
                    throw NewFileError(folder, errno)
                }
            }
        }
        try make(NewFiles(.writing, for: file).folder)
    }

    /// Throws if the portal can't be asked for a secret. It isn't asked.
    ///
    /// - Throws: `KeyStoreError`.
    func checkPortal() throws {
        try TimeLimit.run(timeout) { try SecretPortal.check(SessionBus(cancellation: $0)) }
    }

    /// The portal's secret.
    private func secret(_ isCancelled: @Sendable () -> Bool) throws -> Secret {
        try TimeLimit.run(timeout, endingWhen: isCancelled) { cancellation in
            try SecretPortal.secret(SessionBus(cancellation: cancellation))
        }
    }
}

extension PortalKeyStore: ItemDeletingKeyStore, InterruptibleKeyStore {
    package func delete(_ item: KeyItem) throws {
        try change { $0.delete(item) }
    }

    package func endingLookUps(
        when isCancelled: @escaping @Sendable () -> Bool
    ) -> any KeyStore {
        var store = self
        store.isCancelled = isCancelled
        return store
    }
}
