import CSQLCipher
import MigrationKitPages
import MigrationKitCommon
import Foundation
import MigrationKitKeys
import MigrationKitSQLCipher

/// The key and settings that open a damaged file, found with any of its pages.
struct SalvageKey {
    let form: PageForm
    /// `nil` for a plaintext file.
    let cipher: CipherSettings?
    let salt: SalvageReport.Salt

    // MARK: - Plaintext

    /// - Returns: `nil` if no page of the file makes sense as a plaintext database's.
    init?(plaintext file: RawFile) throws {
        cipher = nil
        salt = .intact
        let start = try file.read(at: 0, count: DatabaseHeader.count)
        if let start, let header = DatabaseHeader(start) {
            form = PageForm(pageSize: header.pageSize, reservedCount: Int(start[20]))
            return
        }
        // If the header is lost, the right page size is the one with which most of the file makes
        // sense.
        let candidates = (9...16).map { PageForm(pageSize: 1 << $0, reservedCount: 0) }
        let best = candidates.map { (form: $0, bytes: Self.plausibleBytes(of: file, $0)) }
            .max { $0.bytes < $1.bytes }
        guard let best, best.bytes > 0 else { return nil }
        form = best.form
    }

    /// How many bytes of the file's first pages are in valid b-tree pages.
    private static func plausibleBytes(of file: RawFile, _ form: PageForm) -> Int {
        (1...max(1, (1 << 20) / form.pageSize)).count { number in
            let offset = (number - 1) * form.pageSize
            guard let page = try? file.read(at: offset, count: form.pageSize) else { return false }
            return TreePage(page, number: number, usableSize: form.usableSize) != nil
        } * form.pageSize
    }

    // MARK: - Encrypted

    /// - Parameters:
    ///   - monitor: Follows the search for the salt.
    /// - Returns: `nil` if no page can be opened.
    init?(
        encrypted file: RawFile,
        key: DatabaseKey,
        cipher given: CipherSettings,
        monitor: ConversionMonitor
    ) throws {
        guard let start = try file.read(at: 0, count: CipherSettings.saltCount) else { return nil }
        let salt = try given.salt(ofFile: start, key: key)
        for cipher in given.candidates {
            try monitor.checkCancellation()
            let sample = Sample(of: file, cipher: cipher)
            let derived = try key.derived(salt: salt, cipher: cipher)
            let form = try PageForm(key: derived, salt: salt, cipher: cipher)
            if form.provesPages ? sample.hasIntactPage(form) : sample.hasPlausiblePage(form) {
                (self.form, self.cipher, self.salt) = (form, cipher, .intact)
                return
            }
        }
        // A salt that is kept elsewhere isn't damaged.
        guard !given.hasPlaintextHeader else { return nil }
        // A raw key that contains its salt doesn't need the file's.
        guard given.hmacAlgorithm != .off, key.secret.count < 48 || key.form == .passphrase else {
            return nil
        }
        let sample = Sample(of: file, cipher: given)
        let found = try Self.search(near: salt, monitor) { salt in
            let derived = try key.derived(salt: salt, cipher: given)
            return sample.hasIntactPage(try PageForm(key: derived, salt: salt, cipher: given))
        }
        if let found {
            let derived = try key.derived(salt: found, cipher: given)
            form = try PageForm(key: derived, salt: found, cipher: given)
            (cipher, self.salt) = (given, .repaired)
            return
        }
        // A raw key decrypts without a salt. Only the HMAC needs it.
        guard key.form == .rawKey else { return nil }
        let form = try PageForm(key: key, salt: nil, cipher: given)
        guard sample.hasPlausiblePage(form) else { return nil }
        (self.form, cipher, self.salt) = (form, given, .lost)
    }

    /// Tries the salts that differ in one bit, on all processors.
    private static func search(
        near salt: [UInt8],
        _ monitor: ConversionMonitor,
        _ attempt: @escaping @Sendable (_ salt: [UInt8]) throws -> Bool
    ) throws -> [UInt8]? {
        let count = CipherSettings.saltCount * 8
        monitor.begin(.searchingSalt, total: count)
        let found = Locked<[UInt8]?>(nil)
        try WorkerThreads.run(
            count,
            threadCount: ProcessInfo.processInfo.activeProcessorCount,
            watch: { try monitor.reach($0) },
            make: {
                { bit in
                    guard found.withLock({ $0 }) == nil else { return }
                    var other = salt
                    other[bit / 8] ^= 1 << (bit % 8)
                    guard try attempt(other) else { return }
                    found.withLock { $0 = $0 ?? other }
                }
            }
        )
        monitor.finish()
        return found.withLock { $0 }
    }

    /// Pages spread over a file.
    private struct Sample: Sendable {
        let pages: [(number: Int, bytes: [UInt8])]

        init(of file: RawFile, cipher: CipherSettings) {
            let size = cipher.pageSize
            pages = PageAuthentication.sample(ofPages: file.size / size).compactMap { number in
                (try? file.read(at: (number - 1) * size, count: size)).map { (number, $0) }
            }
        }

        func hasIntactPage(_ form: PageForm) -> Bool {
            pages.contains { form.isIntact($0.bytes, number: $0.number) }
        }

        /// Random bytes hardly ever look like a b-tree page.
        func hasPlausiblePage(_ form: PageForm) -> Bool {
            pages.contains { page in
                guard let content = form.content(page.bytes, number: page.number) else {
                    return false
                }
                // Its b-tree begins so late in the page that a wrong initialization vector doesn't
                // matter.
                guard page.number > 1 else { return DatabaseHeader(content) != nil }
                let tree = TreePage(content, number: page.number, usableSize: form.usableSize)
                return tree.map { $0.badCellCount == 0 && !$0.cells.isEmpty } ?? false
            }
        }
    }
}
