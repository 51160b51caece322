/// The versions of pages in a journal beside a database. They take precedence over those in the
/// file.
struct PageVersions {
    /// The offset of the newest intact version, by page number.
    var offsets: [Int: Int] = [:]

    /// The pages whose newest version is damaged. An older version, from an earlier frame or from
    /// the file, is used: most of its rows are unchanged, but some may have been changed, moved or
    /// deleted since.
    var older: Set<Int> = []

    /// How many pages the database has after the last transaction.
    var pageCount: Int?

    /// The number of frames, or page images, that count, and the damaged ones among them, counted
    /// from 1.
    var frameCount = 0
    var damagedFrames: [Int] = []
}
