/// A sign of life of a ``DatabaseConversion``, a ``DatabaseBackup`` or a ``DatabaseRestore``.
public enum ConversionEvent: Equatable, Sendable {
    /// The conversion waits for other processes that have the database open or locked. Empty if the
    /// system doesn't report which.
    case waiting(for: [OpenProcess])

    /// A phase goes on; reported about ten times a second, and at its beginning and end.
    ///
    /// The bytes of the copy's and the source's files: while copying those written, then those
    /// read. They are measured from outside, and so are no more than nearly right.
    case progress(Phase, bytesDone: Int, bytesTotal: Int)

    /// What is done one after the other. Restoring compares nothing, and nor does a backup of a
    /// database that is not in WAL mode. A `DatabaseSalvage` begins with the first two.
    public enum Phase: String, Sendable, CaseIterable {
        /// The salt of a damaged file is looked for. Its bytes are the 128 attempts.
        case searchingSalt
        /// Every page of a damaged file is looked at.
        case reading
        /// Every row goes into the new file.
        case copying
        /// Source and copy are compared, row by row.
        case comparing
        /// The copy is looked through as a file of its own.
        case verifying
    }
}
