import FoundationEssentials
import MigrationKitCommon

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

    /// The attribute that records the form of the secret, if this library stored the item: `passphrase` or
    /// `raw-key`.
    package static let formAttribute = "migrationkit:form"

    /// The secret's form.
    ///
    /// - Parameter form: That of other programs' items.
    /// - Throws: ``DatabaseKeyError/unknownForm(_:)``.
    func form(assuming form: DatabaseKey.Form) throws(DatabaseKeyError) -> DatabaseKey.Form {
        guard self.form == nil, let name = attributes[Self.formAttribute] else {
            return self.form ?? form
        }
        throw .unknownForm(name)
    }

    /// One line that distinguishes this item from others that match the same search.
    public var summary: String {
        let shown = attributes.sorted { $0.key < $1.key }.map { "\($0.key)=\"\($0.value)\"" }
        return "\"\(label)\" in \(collection)"
            + (shown.isEmpty ? "" : ": " + shown.joined(separator: ", "))
            + ", item \(identifier)"
    }
}

extension KeyItem: Encodable {
    /// Encodes the item. Nothing in it is secret.
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "identifier": identifier,
            "service": service,
            "account": account,
            "label": label,
            "collection": collection,
            "form": form,
            "created": created?.formatted(.iso8601),
            "modified": modified?.formatted(.iso8601),
            "locked": isLocked,
            "attributes": attributes,
        ])
    }
}
