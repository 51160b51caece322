/// What a ``DatabaseConversion`` has done.
public struct ConversionReport: Equatable, Sendable {
    /// The new file's path: the database's own with its links resolved, or the output's.
    public let path: String

    /// Where the original is kept, if it was asked for.
    public let originalPath: String?

    /// How many other names (hard links) the file has that was replaced. By those it is still there,
    /// as it was.
    public let otherNameCount: Int

    /// The permissions of the file that was replaced, such as 0o640; the new one's are 0o600 at most.
    /// `nil` where none was replaced.
    public let formerMode: UInt32?

    /// The size of the source's file, in bytes.
    public let bytesBefore: Int

    /// The size of the new file, in bytes.
    public let bytesAfter: Int

    /// How many tables were compared, those that SQLite keeps for itself and for FTS5 included.
    public let tableCount: Int

    /// How many rows they have.
    public let rowCount: Int

    /// How long it took, in seconds, the waiting for others included.
    public let seconds: Double

    /// How long each of its phases took, in seconds. What is left of ``seconds`` went into waiting,
    /// locking, and having the disk keep the new file.
    public let phaseSeconds: [ConversionEvent.Phase: Double]
}
