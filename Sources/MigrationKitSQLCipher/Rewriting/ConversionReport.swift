import MigrationKitCommon

/// What a ``DatabaseConversion`` has done.
public struct ConversionReport: Equatable, Sendable {
    /// The new file's path: the database's own with its links resolved, or the output's.
    public let path: String

    /// Where the original is kept, if it was asked for.
    public let originalPath: String?

    /// How many other names (hard links) the replaced file has. Under those names it still exists
    /// unchanged.
    public let otherNameCount: Int

    /// The permissions of the replaced file, such as 0o640. The new file has at most 0o600, and
    /// what its access control list gives to those that it names. `nil` if no file was replaced.
    public let formerMode: UInt32?

    /// The size of the source's file, in bytes.
    public let bytesBefore: Int

    /// The size of the new file, in bytes.
    public let bytesAfter: Int

    /// How many tables there are, including the internal ones of SQLite and FTS5.
    public let tableCount: Int

    /// How many rows they have.
    public let rowCount: Int

    /// What is wrong with the structure of the source, and so with that of the new file. One line
    /// each; no values of rows. The full verification finds what is wrong in its rows and indexes.
    public let findings: [String]

    /// How long it took, in seconds, including the time spent waiting.
    public let seconds: Double

    /// How long each phase took, in seconds. The rest of ``seconds`` was spent waiting, locking,
    /// and synchronizing the new file.
    public let phaseSeconds: [ConversionEvent.Phase: Double]
}

extension ConversionReport: Encodable {
    /// Encodes what was done. A report is that of a file that was compared.
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "original": originalPath,
            "tables": tableCount,
            "rows": rowCount,
            "bytesBefore": bytesBefore,
            "bytesAfter": bytesAfter,
            "seconds": seconds,
            "compared": true,
            "verified": findings.isEmpty,
            "findings": findings,
        ])
    }
}
