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
    /// - Throws: ``DatabaseKeyError`` if the secret doesn't have that form, or the item records one that isn't
    ///   known.
    public func key(assuming form: DatabaseKey.Form = .passphrase) throws -> DatabaseKey {
        try DatabaseKey(text, form: item.form(assuming: form))
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
