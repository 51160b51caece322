/// The progress of a ``DatabaseConversion``, a ``DatabaseBackup`` or a ``DatabaseRestore``.
public enum ConversionEvent: Equatable, Sendable {
    /// The conversion waits for other processes that have the database open or locked. The list is
    /// empty if the system doesn't report them.
    case waiting(for: [OpenProcess])

    /// The progress of a phase, reported about ten times a second, and at its beginning and end.
    ///
    /// It counts bytes of the copy's and the source's files: while copying, those that are written;
    /// later, those that are read. They are measured from outside, so they are approximate.
    case progress(Phase, bytesDone: Int, bytesTotal: Int)

    /// The phases, in order. Only a `DatabaseSalvage` has the first two, and it has no comparison.
    public enum Phase: String, Sendable, CaseIterable {
        /// The search for the salt of a damaged file. Its bytes are the 128 attempts.
        case searchingSalt
        /// Reads every page of a damaged file.
        case reading
        /// Copies every page, or every row, into the new file.
        case copying
        /// Reads the copy again: compares it with the source, page by page, table by table or, if
        /// that leaves a doubt, row by row, and authenticates each page.
        case comparing
        /// Checks the copy through SQLite, as far as that is still needed.
        case verifying
    }
}
