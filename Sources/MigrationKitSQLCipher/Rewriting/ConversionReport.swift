/// What a ``DatabaseConversion`` has done.
public struct ConversionReport: Equatable, Sendable {
    /// The new file's path: the database's own with its links resolved, or the output's.
    public let path: String

    /// Where the original is kept, if it was asked for.
    public let originalPath: String?

    /// How many other names (hard links) the replaced file has. Under those names it still exists
    /// unchanged.
    public let otherNameCount: Int

    /// The permissions of the replaced file, such as 0o640. The new file has at most 0o600. `nil`
    /// if no file was replaced.
    public let formerMode: UInt32?

    /// The size of the source's file, in bytes.
    public let bytesBefore: Int

    /// The size of the new file, in bytes.
    public let bytesAfter: Int

    /// How many tables were compared, including the internal ones of SQLite and FTS5.
    public let tableCount: Int

    /// How many rows they have.
    public let rowCount: Int

    /// How long it took, in seconds, including the time spent waiting.
    public let seconds: Double

    /// How long each phase took, in seconds. The rest of ``seconds`` was spent waiting, locking,
    /// and synchronizing the new file.
    public let phaseSeconds: [ConversionEvent.Phase: Double]
}
