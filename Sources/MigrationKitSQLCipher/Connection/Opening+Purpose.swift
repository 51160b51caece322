extension Opening {
    /// What a database is opened for, as far as it decides what becomes of its file and its key.
    package enum Purpose: Sendable {
        /// To change it.
        case change

        /// Only to read it. A write-ahead log stays as it was found. A file that can't be written,
        /// because of its mode or its medium, isn't refused; nothing is left beside it then, not even
        /// in WAL mode.
        case read

        /// To read it, unless a program was stopped while it wrote: SQLite would undo that change when
        /// it opens the file, which is refused.
        case examine

        /// To examine it, and to copy it by SQLite's backup interface. An interrupted rotation of the
        /// key, and the record of the item that has it, are left as they are, too.
        case copy

        var onlyReads: Bool { self != .change }

        var refusesRecovery: Bool { self == .examine || self == .copy }
    }
}
