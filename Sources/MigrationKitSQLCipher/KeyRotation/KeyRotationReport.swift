import KeyStore

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
}
