import MigrationKitCommon

/// What a ``DatabaseRestore`` has done.
public struct RestoreReport: Equatable, Sendable {
    /// The restored database's path: its own with its links resolved.
    public let path: String

    /// Whether a file was replaced.
    public let hasReplaced: Bool

    /// Where that file is kept, if it was asked for.
    public let originalPath: String?

    /// The database's size, in bytes.
    public let byteCount: Int

    /// How many other names (hard links) the replaced file has. Under those names it still exists
    /// unchanged.
    public let otherNameCount: Int

    /// The permissions of the replaced file, such as 0o640. The new file has at most 0o600, and
    /// what its access control list gives to those that it names. `nil` if no file was replaced.
    public let formerMode: UInt32?

    /// Where the content breaks its own rules, which is restored unchanged. One line each; no
    /// values of rows.
    public let findings: [String]

    /// How long it took, in seconds, including the time spent waiting.
    public let seconds: Double
}

extension RestoreReport: Encodable {
    /// Encodes what was done. A report is that of a file that was compared.
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "replaced": hasReplaced,
            "original": originalPath,
            "bytes": byteCount,
            "findings": findings,
            "seconds": seconds,
            "compared": true,
            "verified": findings.isEmpty,
        ])
    }
}
