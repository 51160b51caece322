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
    /// Which file beside the database has the salt; `nil` if it is its own.
    let saltSource: SalvageReport.Journal.Kind?
    /// The raw key; `nil` for a plaintext file, or if the file's own salt is damaged.
    private(set) var rawKey: DatabaseKey?

    // MARK: - Plaintext

    /// - Returns: `nil` if no page of the file makes sense as a plaintext database's.
    init?(plaintext file: RawFile) throws {
        (cipher, saltSource) = (nil, nil)
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
    ///   - files: The log and the journal may have the salt, too.
    ///   - keys: The database's key, and another one that some pages may have.
    ///   - monitor: Follows the search for the salt.
    /// - Returns: `nil` if no page can be opened.
    init?(
        encrypted files: SalvageFiles,
        keys: [DatabaseKey],
        cipher given: CipherSettings,
        monitor: ConversionMonitor
    ) throws {
        for key in keys {
            for (salt, source) in try files.salts(given, key) {
                for cipher in given.candidates {
                    try monitor.checkCancellation()
                    let sample = try Sample(of: files, cipher: cipher)
                    let form = try Self.form(key, salt, cipher)
                    guard
                        form.provesPages
                            ? sample.hasIntactPage(form) : sample.hasPlausiblePage(form)
                    else { continue }
                    self.form = try Self.adding(keys, besides: key, to: form, salt, cipher)
                    (self.cipher, saltSource) = (cipher, source)
                    self.salt = source == nil ? .intact : .repaired
                    rawKey = source == nil ? try key.derived(salt: salt, cipher: cipher) : nil
                    return
                }
            }
        }
        // A salt that is kept elsewhere isn't damaged.
        guard !given.hasPlaintextHeader, given.hmacAlgorithm != .off,
            let start = try files.main?.read(at: 0, count: CipherSettings.saltCount)
        else { return nil }
        saltSource = nil
        let sample = try Sample(of: files, cipher: given)
        for key in keys {
            // A raw key that contains its salt doesn't need the file's.
            guard key.secret.count < 48 || key.form == .passphrase else { continue }
            let salt = try given.salt(ofFile: start, key: key)
            let found = try Self.search(near: salt, monitor) { salt in
                sample.hasIntactPage(try Self.form(key, salt, given))
            }
            guard let found else { continue }
            let form = try Self.form(key, found, given)
            self.form = try Self.adding(keys, besides: key, to: form, found, given)
            (cipher, self.salt) = (given, .repaired)
            return
        }
        // A raw key decrypts without a salt. Only the HMAC needs it.
        for key in keys where key.form == .rawKey && key.secret.count < 48 {
            let form = try PageForm(key: key, salt: nil, cipher: given)
            guard sample.hasPlausiblePage(form) else { continue }
            (self.form, cipher, self.salt) = (form, given, .lost)
            return
        }
        return nil
    }

    private static func form(
        _ key: DatabaseKey,
        _ salt: [UInt8],
        _ cipher: CipherSettings
    ) throws -> PageForm {
        try PageForm(key: key.derived(salt: salt, cipher: cipher), salt: salt, cipher: cipher)
    }

    /// A change of the key that was interrupted leaves pages of both keys, under one salt.
    private static func adding(
        _ keys: [DatabaseKey],
        besides key: DatabaseKey,
        to form: PageForm,
        _ salt: [UInt8],
        _ cipher: CipherSettings
    ) throws -> PageForm {
        guard form.provesPages else { return form }
        var form = form
        form.others = try keys.filter { $0 != key }.map { try Self.form($0, salt, cipher) }
        return form
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

        init(of files: SalvageFiles, cipher: CipherSettings) throws {
            let size = cipher.pageSize
            let inFile = files.main.map { file in
                PageAuthentication.sample(ofPages: file.size / size).compactMap { number in
                    (try? file.read(at: (number - 1) * size, count: size)).map { (number, $0) }
                }
            }
            pages = (inFile ?? []) + (try files.pagesBeside(pageSize: size, most: 32))
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
