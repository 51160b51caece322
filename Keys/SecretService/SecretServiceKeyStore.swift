import FoundationEssentials
import Glibc
import MigrationKitCommon
import MigrationKitKeys

/// The desktop's Secret Service (GNOME Keyring, KWallet, KeePassXC) as a key store.
///
/// Items are found by the attribute `service` together with `username` or `account`, in every
/// collection and with any schema. So this finds items that secret-tool and the keyring libraries
/// of Python, Go, Rust and Node stored, and they find items stored here.
///
/// An item counts as missing only after the service, its default (or the named) collection, and
/// that collection's lock were checked. A locked collection is unlocked only if that is allowed,
/// which may show a question on the desktop. Each call ends at the time limit; while the user is asked,
/// no time passes. A question whose call ends before its answer is taken back, except from GNOME Keyring,
/// which would end: there it stays until it is answered or the process ends.
///
/// Any program of the same user can read an item while its collection is unlocked.
public struct SecretServiceKeyStore: KeyStore {
    package let collection: String?
    private let timeout: Duration
    private let questionTimeout: Duration?
    private let allowsPrompt: Bool
    private(set) var isCancelled: @Sendable () -> Bool = { false }

    /// Describes how to ask. Nothing is contacted yet.
    ///
    /// - Parameters:
    ///   - collection: The collection to search and store in: its label, or the name in its path;
    ///     nil to search all and store in the default one.
    ///   - timeout: How long each call may take, without the time in which the user is asked.
    ///   - questionTimeout: How long the user may take to answer a question; nil for any time.
    ///   - allowsPrompt: Whether the user may be asked to unlock a collection.
    public init(
        collection: String? = nil,
        timeout: Duration = .seconds(30),
        questionTimeout: Duration? = nil,
        allowsPrompt: Bool = true
    ) {
        self.collection = collection
        self.timeout = timeout
        self.questionTimeout = questionTimeout
        self.allowsPrompt = allowsPrompt
    }

    /// The items that match, without their secrets, oldest first.
    ///
    /// The default (or the named) collection is unlocked first. Locked items in other collections
    /// are listed as locked, with what is known about them.
    public func items(service: String?, account: String?) throws -> [KeyItem] {
        try perform(service, account, endingWhen: isCancelled) { search in
            let found = try search.found { found in
                found.target.flatMap { $0.isLocked ? ItemSearch.Obstacle($0) : nil }
                    ?? found.hidingPlace
            }
            if found.items.isEmpty { _ = try found.requiredTarget() }
            return found.items
                .map { $0.description(in: found.collections, lookedFor: service) }
                .sorted { left, right in
                    (left.created ?? .distantPast, left.identifier)
                        < (right.created ?? .distantPast, right.identifier)
                }
        }
    }

    /// The one item that matches, with its secret.
    public func entry(service: String, account: String?) throws -> KeyEntry {
        try perform(service, account, endingWhen: isCancelled) { search in
            let (found, item) = try search.only()
            guard let secret = try found.connection.secret(of: item) else {
                throw KeyStoreError.locked(collection: found.target?.label ?? "default")
            }
            return KeyEntry(
                item: item.description(in: found.collections, lookedFor: service),
                secret: secret
            )
        }
    }

    /// Stores a key, in the named collection or the default one. If there is no default collection
    /// and the user may be asked, the desktop makes one and asks for its password.
    ///
    /// A passphrase with a `PassphraseFlaw` is refused before the service is asked.
    ///
    /// The item is read back: some services change text that looks like a placeholder. A
    /// replacement is stored before the old item is deleted, so an interruption loses no key. If
    /// both remain, the next search reports that several match.
    ///
    /// Of several processes that store at once, one succeeds. A Secret Service makes equal items for all, so
    /// each looks for others after it has stored, and takes its own back if there is one.
    public func store(
        _ key: DatabaseKey,
        service: String,
        account: String,
        label: String?,
        replacing: Bool
    ) throws {
        try checkStorable(key)
        let label = label ?? defaultLabel(service: service, account: account)
        try perform(service, account) { search in
            let found = try search.found { found in
                if let target = found.target, target.isLocked { return ItemSearch.Obstacle(target) }
                let locked = ItemSearch.Obstacle(lockedOf: found.items, in: found.collections)
                return (replacing ? locked : nil) ?? found.hidingPlace
            }
            let target = try found.target ?? search.newTarget(found)
            let attributes = ItemAttributes.stored(
                service: service,
                account: account,
                form: key.form
            )
            try Self.alone {
                for _ in 1...20 {
                    if try search.store(key, label, attributes, in: target, replacing: replacing) {
                        return
                    }
                    usleep(.random(in: 1000...100_000))
                }
                throw KeyStoreError.failure(message: "other processes store the same item")
            }
        }
    }

    /// Runs `body` while no other process of this session does. Where there can be no lock, such as
    /// between two sandboxes, others may run at the same time.
    private static func alone(_ body: () throws -> Void) throws {
        guard let folder = environmentVariable("XDG_RUNTIME_DIR") else { return try body() }
        let lock = FileLock(beside: "\(folder)/migrationkit-keys", suffix: ".lock")
        var isDone = false
        do {
            try lock.withLock(timeout: 5) {
                isDone = true
                try body()
            }
        } catch let failure as FileLock.Failure {
            guard !isDone else { throw failure }
            try body()
        }
    }

    /// Throws if a Secret Service can't keep the key permanently. Contacts none.
    public func checkStorable(_ key: DatabaseKey) throws {
        try key.checkStorable()
    }

    /// Deletes the one item that matches. If several match, none is deleted.
    ///
    /// KeePassXC moves deleted items to its recycle bin, where no search finds them, unless its
    /// database has none.
    @discardableResult
    public func delete(service: String, account: String?) throws -> KeyItem {
        try perform(service, account) { search in
            let (found, item) = try search.only()
            let description = item.description(in: found.collections, lookedFor: service)
            try found.connection.delete(item)
            return description
        }
    }

    package func delete(_ item: KeyItem) throws {
        try perform(item.service, item.account) { search in
            let found = try search.found {
                ItemSearch.Obstacle(lockedOf: $0.items, in: $0.collections)
            }
            guard let one = found.items.first(where: { $0.path == item.identifier }) else {
                throw KeyStoreError.itemNotFound(service: item.service, account: item.account)
            }
            try found.connection.delete(one)
        }
    }

    func perform<Value: Sendable>(
        _ service: String?,
        _ account: String?,
        endingWhen isCancelled: @Sendable () -> Bool = { false },
        _ work: @escaping @Sendable (ItemSearch) throws -> Value
    ) throws -> Value {
        let (collection, allowsPrompt) = (collection, allowsPrompt)
        return try TimeLimit.run(
            timeout,
            questionLimit: questionTimeout,
            endingWhen: isCancelled
        ) { cancellation in
            let search = ItemSearch(
                collection: collection,
                allowsPrompt: allowsPrompt,
                service: service,
                account: account,
                cancellation: cancellation
            )
            for attempt in 1... {
                do {
                    return try work(search)
                } catch let failure as PassingFailure {
                    guard attempt < 10 else {
                        throw KeyStoreError.failure(message: failure.message)
                    }
                }
            }
            preconditionFailure("the tenth attempt returns or throws")
        }
    }
}

extension SecretServiceKeyStore: ItemDeletingKeyStore, InterruptibleKeyStore {
    package func endingLookUps(
        when isCancelled: @escaping @Sendable () -> Bool
    ) -> any KeyStore {
        var store = self
        store.isCancelled = isCancelled
        return store
    }
}

extension ItemSearch {
    /// Stores a key, unless another process stores the same item at this moment.
    ///
    /// - Returns: Whether it is stored. If not, nothing has changed.
    fileprivate func store(
        _ key: DatabaseKey,
        _ label: String,
        _ attributes: [String: String],
        in target: ServiceCollection,
        replacing: Bool
    ) throws -> Bool {
        let found = try look()
        let connection = found.connection
        // A process that was killed while it stored may have left an item without a secret.
        let items = try found.items.filter { item in
            guard !item.isLocked, try connection.secret(of: item)?.isEmpty ?? true else {
                return true
            }
            try connection.delete(item)
            return false
        }
        guard replacing || items.isEmpty else {
            throw KeyStoreError.itemExists(service: service ?? "", account: account ?? "")
        }
        guard items.count <= 1 else { throw ambiguous(found) }
        let made = try connection.keep(
            key.stored(),
            label: label,
            attributes: attributes,
            in: target
        )
        let known = Set((items + [made]).map(\.path))
        do {
            guard try look().items.allSatisfy({ known.contains($0.path) }) else {
                try connection.delete(made)
                return false
            }
        } catch let failure as PassingFailure {
            // Another process has taken its own back meanwhile. All of it is tried again.
            try connection.delete(made)
            throw failure
        }
        for old in items { try connection.delete(old) }
        // A file may get this key next.
        _ = connection.provider()
        return true
    }
}

extension ServiceConnection {
    /// Stores an item so that its secret is returned unchanged.
    ///
    /// If the secret is text, it is stored as text, so that every program can show it. In text,
    /// KeePassXC replaces placeholders (`{TITLE}`) and drops a byte order mark. Then it is stored
    /// as bytes, which KeePassXC doesn't change.
    fileprivate func keep(
        _ secret: Secret,
        label: String,
        attributes: [String: String],
        in collection: ServiceCollection
    ) throws -> ServiceItem {
        let bytes = "application/octet-stream"
        let item = try makeItem(
            secret,
            contentType: secret.isText ? "text/plain" : bytes,
            label: label,
            attributes: attributes,
            in: collection
        )
        do {
            if try self.secret(of: item) == secret { return item }
            try replaceSecret(of: item, by: secret, contentType: bytes)
            if try self.secret(of: item) == secret { return item }
        } catch PassingFailure.sessionUnusable(let message) {
            // It is stored again in another session.
            try delete(item)
            throw PassingFailure.sessionUnusable(message: message)
        }
        try delete(item)
        throw KeyStoreError.failure(message: "it returned a different secret from the one stored")
    }
}

extension Secret {
    /// Whether the bytes are UTF-8 without a NUL, at which many programs stop. Checked in place.
    fileprivate var isText: Bool {
        withUnsafeBytes { bytes in
            var decoder = UTF8()
            var iterator = bytes.makeIterator()
            while true {
                switch decoder.decode(&iterator) {
                case .scalarValue("\0"): return false
                case .scalarValue: continue
                case .emptyInput: return true
                case .error: return false
                }
            }
        }
    }
}

// MARK: - Item Attributes

/// The attributes for finding and storing items. None of them is secret.
enum ItemAttributes {
    static let form = KeyItem.formAttribute

    /// The attributes of an item that may be shown and inspected.
    ///
    /// KeePassXC exposes a whole entry as attributes, including notes, one-time password seeds and
    /// protected fields. Its entries are recognized by the two attributes that it adds. Only the
    /// attributes by which programs find items are kept, and those that distinguish entries.
    static func shown(_ attributes: [String: String]) -> [String: String] {
        guard entryMarks.isSubset(of: attributes.keys) else { return attributes }
        return attributes.filter { entryMarks.contains($0.key) || conventional.contains($0.key) }
    }

    private static let entryMarks: Set = ["Uuid", "Path"]
    private static let conventional: Set = [
        "service", "username", "account", "target", "application", "xdg:schema", form,
    ]

    /// The attributes of a new item: those that secret-tool and the keyrings of Python and Go
    /// search for, the schema that they use, and the form.
    static func stored(
        service: String,
        account: String,
        form: DatabaseKey.Form
    ) -> [String: String] {
        [
            "service": service, "username": account, Self.form: form.rawValue,
            "xdg:schema": "org.freedesktop.Secret.Generic",
        ]
    }

    /// The searches that together find the matching items.
    ///
    /// Most programs call the account `username`; keytar calls it `account`. Without a service,
    /// this searches for the items that this library stored.
    static func searches(service: String?, account: String?) -> [[String: String]] {
        let bases: [[String: String]] =
            if let service {
                [["service": service]]
            } else {
                [
                    [form: DatabaseKey.Form.passphrase.rawValue],
                    [form: DatabaseKey.Form.rawKey.rawValue],
                ]
            }
        guard let account else { return bases }
        return bases.flatMap { base in
            ["username", "account"].map { base.merging([$0: account]) { $1 } }
        }
    }
}
