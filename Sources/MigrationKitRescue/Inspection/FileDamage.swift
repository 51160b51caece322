/// What is damaged in a file.
public struct FileDamage: Equatable, Sendable {
    /// The damaged pages, counted from 1.
    public var pages: [Int] = []

    /// Those of them that are zeros: they were never written, or were cut off before the file grew again.
    public var zeroPages: [Int] = []

    /// How many pages at the end are counted in the header but missing from the file.
    public var missingPageCount = 0

    /// Whether the salt was changed. Only a raw key can show this.
    public var isSaltDamaged = false

    /// The first damaged frame of the write-ahead log, counted from 1. All frames after it are
    /// lost.
    public var logFrame: Int?

    /// SQLite's message about a database whose pages are intact but whose content isn't.
    public var detail: String?
}
