import MigrationKitCommon

/// What a ``DatabaseBackup`` has done.
public struct BackupReport: Equatable, Sendable {
    /// The backup's file.
    public let path: String

    /// Its size, in bytes.
    public let byteCount: Int

    /// Whether the backup was compared with the database, which is always so: each page was read
    /// back, authenticated, and compared with what was read from the database.
    public let isCompared: Bool

    /// Where the content breaks its own rules, which the backup keeps unchanged: rows without the
    /// parent that a foreign key names, or checks that need an SQL function that isn't registered.
    /// One line each; no values of rows.
    public let findings: [String]

    /// How long it took, in seconds, including the time spent waiting.
    public let seconds: Double
}

extension BackupReport: Encodable {
    /// Encodes what was done.
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "output": path,
            "bytes": byteCount,
            "compared": isCompared,
            "verified": findings.isEmpty,
            "findings": findings,
            "seconds": seconds,
        ])
    }
}
