import FoundationEssentials

/// What a key store reports about an item. Nothing in it is secret.
public struct KeyItem: Sendable, Equatable {
    /// What distinguishes the item from every other one of its store.
    public let identifier: String
    /// The service that the item is for, such as an app's identifier.
    public let service: String
    /// The account; nil if the item names none.
    public let account: String?
    /// What a person sees in a password program.
    public let label: String
    /// The name of the collection that holds the item.
    public let collection: String
    /// Every attribute, `service` and the account's included.
    public let attributes: [String: String]
    /// When the item was made, if the store knows.
    public let created: Date?
    /// When the item was last changed, if the store knows.
    public let modified: Date?
    /// What the secret is, if this library stored it; nil for the items of others, which don't say.
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

    /// What distinguishes this item from others that match the same look-up, in one line.
    public var summary: String {
        let shown = attributes.sorted { $0.key < $1.key }.map { "\($0.key)=\"\($0.value)\"" }
        return "\"\(label)\" in \(collection)"
            + (shown.isEmpty ? "" : ": " + shown.joined(separator: ", "))
    }
}
