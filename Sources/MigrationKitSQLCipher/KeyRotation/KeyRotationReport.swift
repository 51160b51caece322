import MigrationKitCommon
import MigrationKitKeys

/// What a ``KeyRotation`` has done.
public struct KeyRotationReport: Equatable, Sendable {
    /// How the database was rewritten.
    public let conversion: ConversionReport

    /// The key's item, with the new key.
    public let item: KeyItem

    /// The item as it was. If another program stored it, it has no form, and had the attributes
    /// that program searches for. The new item has only this library's attributes.
    public let formerItem: KeyItem

    /// The item in which the old key is kept; `nil` if it was discarded.
    public let keptItem: KeyItem?

    /// The item for a key that another program stored in the key's item during the rotation; `nil`
    /// if none did.
    public let otherKeptItem: KeyItem?

    /// The program that may still lose the new key, because it answers before it writes; `nil` if
    /// the key is on its disk. Until it was started again and the database opened, the file
    /// `NAME-sealed-keys` beside the database leads from the old key to the new one.
    public let unwrittenProvider: KeyStoreProvider?
}

extension KeyRotationReport: Encodable {
    /// Encodes the items, and how the database was rewritten. No secret is in it.
    public func encode(to encoder: any Encoder) throws {
        try conversion.encode(to: encoder)
        try encoder.encode([
            "item": item,
            "kept": keptItem,
        ])
    }
}
