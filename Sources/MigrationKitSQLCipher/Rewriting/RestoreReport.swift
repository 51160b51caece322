/// What a ``DatabaseRestore`` has done.
public struct RestoreReport: Equatable, Sendable {
    /// The restored database's path: its own with its links resolved.
    public let path: String

    /// Whether there was a file, which was replaced.
    public let hasReplaced: Bool

    /// Where that file is kept, if it was asked for.
    public let originalPath: String?

    /// The database's size, in bytes.
    public let byteCount: Int

    /// How many other names (hard links) the file has that was replaced. By those it is still there,
    /// as it was.
    public let otherNameCount: Int

    /// The permissions of the file that was replaced, such as 0o640; the new one's are 0o600 at most.
    /// `nil` where none was replaced.
    public let formerMode: UInt32?

    /// What the content has against its own rules, which is restored as it is. One line each; no
    /// values of rows.
    public let findings: [String]

    /// How long it took, in seconds, the waiting for others included.
    public let seconds: Double
}
