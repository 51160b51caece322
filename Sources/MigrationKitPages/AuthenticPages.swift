import MigrationKitCommon

/// The pages that were authenticated with one key. A page that is read again unchanged isn't
/// authenticated again: computing an HMAC takes ten times as long as this check.
///
/// Keeps an 8-byte hash of each page in memory. Each process uses a new seed.
package final class AuthenticPages: Sendable {
    /// By page number. In a file of 32 GiB or more, not all pages are kept.
    private let hashes = Locked<[Int]>([])
    private static let mostPages = 8 << 20

    package init() {}

    /// Whether a page is authentic.
    ///
    /// - Parameters:
    ///   - page: The page's bytes as they are in the file.
    ///   - number: Its number, from 1.
    ///   - authenticate: Authenticates a page that isn't known.
    func contain(
        _ page: UnsafeRawBufferPointer,
        number: Int,
        _ authenticate: (UnsafeRawBufferPointer) -> Bool
    ) -> Bool {
        guard number <= Self.mostPages else { return authenticate(page) }
        var hasher = Hasher()
        hasher.combine(number)
        hasher.combine(bytes: page)
        // Never equal to the value for an unknown page.
        let hash = hasher.finalize() | 1
        let isKnown = hashes.withLock { number < $0.count && $0[number] == hash }
        guard !isKnown else { return true }
        guard authenticate(page) else { return false }
        hashes.withLock { hashes in
            if number >= hashes.count {
                let count = max(number + 1, min(hashes.count * 2, Self.mostPages + 1))
                hashes += repeatElement(0, count: count - hashes.count)
            }
            hashes[number] = hash
        }
        return true
    }
}
