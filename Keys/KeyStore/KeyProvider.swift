/// The program that keeps a key store's items.
package struct KeyProvider: Sendable, Equatable {
    /// What people call it, such as `GNOME Keyring`; `nil` if it isn't one that this library knows.
    package let name: String?

    /// Tells this run of the program from every other one, on this bus and on others. A program that
    /// has been started since has read its items from the disk.
    package let run: String

    /// Whether the items that it has acknowledged are on the disk. Some programs answer first and
    /// write seconds later, so the items are lost if they are killed in between.
    package let hasWritten: Bool

    package init(name: String?, run: String, hasWritten: Bool) {
        self.name = name
        self.run = run
        self.hasWritten = hasWritten
    }
}

/// A key store whose items another program keeps, which may not write them at once.
package protocol ProvidedKeyStore: KeyStore {
    /// The program that keeps the items. If it can be told to write what it has acknowledged, it is.
    ///
    /// - Throws: ``KeyStoreError`` if the program can't be asked.
    func provider() throws -> KeyProvider
}

extension KeyStore {
    /// The program that may still lose an item that it has acknowledged; `nil` if there is none,
    /// because every item is on the disk or the store isn't kept by another program.
    ///
    /// - Throws: ``KeyStoreError``.
    package func unwrittenProvider() throws -> KeyProvider? {
        let provider = try (self as? any ProvidedKeyStore)?.provider()
        return provider?.hasWritten == false ? provider : nil
    }
}
