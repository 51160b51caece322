import KeyStore

/// What a ``KeyRotation`` has done.
public struct KeyRotationReport: Equatable, Sendable {
    /// How the database was rewritten.
    public let conversion: ConversionReport

    /// The key's item, with the new key.
    public let item: KeyItem

    /// The item as it was. One that another program stored has no form: it had whatever attributes
    /// that program looks for, and the new one has those of this library alone.
    public let formerItem: KeyItem

    /// The item that the old key is kept in; `nil` if it was not to be kept.
    public let keptItem: KeyItem?

    /// The item in which another key is kept, one that somebody put into the key's item while the
    /// database was rotated; `nil` if nobody did.
    public let otherKeptItem: KeyItem?
}
