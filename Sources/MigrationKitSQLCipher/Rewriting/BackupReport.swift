/// What a ``DatabaseBackup`` has done.
public struct BackupReport: Equatable, Sendable {
    /// The backup's file.
    public let path: String

    /// Its size, in bytes.
    public let byteCount: Int

    /// Whether the backup was compared with the database row by row. Otherwise each page was
    /// authenticated when it was read and after it was written.
    public let isCompared: Bool

    /// What the content has against its own rules, which the backup keeps as it is: rows without
    /// the parent that a foreign key names, or checks that need an SQL function which isn't here.
    /// One line each; no values of rows.
    public let findings: [String]

    /// How long it took, in seconds, the waiting for others included.
    public let seconds: Double
}
