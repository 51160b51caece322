import FoundationEssentials

/// What a key store reports about an item. Nothing in it is secret.
public struct KeyItem: Sendable, Equatable {
    /// An identifier that is unique in the store.
    public let identifier: String
    /// The service that the item is for, such as an app's identifier.
    public let service: String
    /// The account; nil if the item names none.
    public let account: String?
    /// The name that password programs show.
    public let label: String
    /// The name of the collection that holds the item.
    public let collection: String
    /// All attributes, including `service` and the account's.
    public let attributes: [String: String]
    /// When the item was created, if the store knows.
    public let created: Date?
    /// When the item was last changed, if the store knows.
    public let modified: Date?
    /// The secret's form, if this library stored it; nil for the items of other programs, which
    /// don't record it.
    public let form: DatabaseKey.Form?
    /// Whether the item's collection is locked.
    public let isLocked: Bool

    /// Describes an item.
    public init(
        identifier: String,
        service: String,
        account: String?,
        label: String,
        collection: String,
        attributes: [String: String],
        created: Date? = nil,
        modified: Date? = nil,
        form: DatabaseKey.Form? = nil,
        isLocked: Bool = false
    ) {
        self.identifier = identifier
        self.service = service
        self.account = account
        self.label = label
        self.collection = collection
        self.attributes = attributes
        self.created = created
        self.modified = modified
        self.form = form
        self.isLocked = isLocked
    }

    /// One line that distinguishes this item from others that match the same search.
    public var summary: String {
        let shown = attributes.sorted { $0.key < $1.key }.map { "\($0.key)=\"\($0.value)\"" }
        return "\"\(label)\" in \(collection)"
            + (shown.isEmpty ? "" : ": " + shown.joined(separator: ", "))
    }
}

/// An item together with its secret.
public struct KeyEntry: Sendable, Equatable {
    /// What is known about the item.
    public let item: KeyItem
    /// The secret as the store keeps it: the passphrase, or a raw key's hexadecimal digits.
    public let secret: Secret

    /// Combines an item and its secret.
    public init(item: KeyItem, secret: Secret) {
        self.item = item
        self.secret = secret
    }

    /// The key from the secret.
    ///
    /// - Parameter form: The secret's form if the item doesn't record one. An item that this
    ///   library stored does, and that takes precedence.
    /// - Throws: ``DatabaseKeyError`` if the secret doesn't have that form.
    public func key(assuming form: DatabaseKey.Form = .passphrase) throws -> DatabaseKey {
        try DatabaseKey(text, form: item.form ?? form)
    }

    /// The secret, without the newline that other programs store with it.
    ///
    /// `secret-tool store` keeps a newline that comes through a pipe. What this library stored is
    /// returned unchanged.
    public var text: Secret {
        item.form == nil ? secret.droppingOneTrailingNewline() : secret
    }
    /// The text, unless it can't be a key.
    ///
    /// - Throws: ``KeySourceError/empty(source:)``; ``KeySourceError/tooLarge(source:limit:)``.
    func text(named source: KeySource) throws -> Secret {
        let text = text
        guard !text.isEmpty else { throw KeySourceError.empty(source: "\(source)") }
        guard text.count <= SecretReader.limit else {
            throw KeySourceError.tooLarge(source: "\(source)", limit: SecretReader.limit)
        }
        return text
    }
}
