/// The program that keeps a key store's items.
public struct KeyStoreProvider: Sendable, Equatable {
    /// What people call it, such as `GNOME Keyring`; `nil` if this library doesn't know it.
    public let name: String?

    /// Tells this run of the program from every other one, on this bus and on others. A program that
    /// was started since has read its items from the disk.
    public let run: String

    /// Whether the items that it has acknowledged are on the disk. Some programs answer first and
    /// write seconds later. If they are killed in between, the items are lost.
    public let hasWritten: Bool

    /// Describes a program.
    public init(name: String?, run: String, hasWritten: Bool) {
        self.name = name
        self.run = run
        self.hasWritten = hasWritten
    }
}
