/// The versions of pages that lie in a journal beside a database, and go before those in the file.
struct PageVersions {
    /// Where the newest version that is intact is, by the page's number.
    var offsets: [Int: Int] = [:]

    /// The pages of which a newer version was there and is damaged. The older one, from an earlier
    /// frame or from the file, is what remains: most of its rows are still as they were, but some
    /// may have been changed, moved or deleted since.
    var older: Set<Int> = []

    /// How many pages the database has, by the last transaction.
    var pageCount: Int?

    /// The frames, or page images, that count, and the numbers, from 1, of those that are damaged.
    var frameCount = 0
    var damagedFrames: [Int] = []
}
