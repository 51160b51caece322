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

    /// - Returns: `nil` if no page of the files makes sense as a plaintext database's.
    init?(plaintext files: SalvageFiles) throws {
        (cipher, saltSource) = (nil, nil)
        salt = .intact
        let start = try files.main?.read(at: 0, count: DatabaseHeader.count)
        for start in try [start].compactMap(\.self) + files.firstPagesBeside().map(\.bytes) {
            guard let header = DatabaseHeader(start) else { continue }
            form = PageForm(pageSize: header.pageSize, reservedCount: Int(start[20]))
            return
        }
        guard let file = files.main else { return nil }
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
        let trial = KeyTrial(files.evidence())
        // A raw key decrypts without a salt. Only the HMAC needs it.
        var withoutSalt: KeyTrial.Fit?
        for key in keys {
            for (salt, source) in try files.salts(given, key) {
                let verdict = try trial.verdict(
                    key,
                    among: given.candidates
                        + files.pageSizesBeside().compactMap { try? given.with(pageSize: $0) },
                    unusual: given.unusual(for: key),
                    salt: salt,
                    check: monitor.checkCancellation
                )
                guard let fit = verdict.fit else { continue }
                if case .saltDamaged = verdict {
                    withoutSalt = withoutSalt ?? fit
                    continue
                }
                form = try Self.adding(keys, besides: key, to: fit)
                (cipher, saltSource) = (fit.cipher, source)
                self.salt = source == nil ? .intact : .repaired
                rawKey = source == nil ? fit.key : nil
                return
            }
        }
        // A salt that is kept elsewhere isn't damaged.
        guard !given.hasPlaintextHeader, given.hmacAlgorithm != .off,
            let start = try files.main?.read(at: 0, count: CipherSettings.saltCount)
        else { return nil }
        saltSource = nil
        for key in keys {
            // A raw key that contains its salt doesn't need the file's.
            guard key.secret.count < 48 || key.form == .passphrase else { continue }
            let salt = try given.salt(ofFile: start, key: key)
            let found = try Self.search(near: salt, monitor) { salt in
                let verdict = try trial.verdict(key, among: [given], salt: salt)
                return if case .saltDamaged = verdict { nil } else { verdict.fit }
            }
            guard let found else { continue }
            form = try Self.adding(keys, besides: key, to: found)
            (cipher, self.salt) = (given, .repaired)
            return
        }
        guard let fit = withoutSalt, fit.key.secret.count < 48 else { return nil }
        form = try PageForm(key: fit.key, salt: nil, cipher: fit.cipher)
        (cipher, self.salt) = (fit.cipher, .lost)
    }

    /// A change of the key that was interrupted leaves pages of both keys, under one salt.
    private static func adding(
        _ keys: [DatabaseKey],
        besides key: DatabaseKey,
        to fit: KeyTrial.Fit
    ) throws -> PageForm {
        func form(_ key: DatabaseKey) throws -> PageForm {
            try PageForm(
                key: key.derived(salt: fit.salt, cipher: fit.cipher),
                salt: fit.salt,
                cipher: fit.cipher
            )
        }
        var result = try PageForm(key: fit.key, salt: fit.salt, cipher: fit.cipher)
        if result.provesPages { result.others = try keys.filter { $0 != key }.map(form) }
        return result
    }

    /// Tries the salts that differ in one bit, on all processors.
    private static func search(
        near salt: [UInt8],
        _ monitor: ConversionMonitor,
        _ attempt: @escaping @Sendable (_ salt: [UInt8]) throws -> KeyTrial.Fit?
    ) throws -> KeyTrial.Fit? {
        let count = CipherSettings.saltCount * 8
        monitor.begin(.searchingSalt, total: count)
        let found = Locked<KeyTrial.Fit?>(nil)
        try WorkerThreads.run(
            count,
            threadCount: ProcessInfo.processInfo.activeProcessorCount,
            watch: { try monitor.reach($0) },
            make: {
                { bit in
                    guard found.withLock({ $0 }) == nil else { return }
                    var other = salt
                    other[bit / 8] ^= 1 << (bit % 8)
                    guard let fit = try attempt(other) else { return }
                    found.withLock { $0 = $0 ?? fit }
                }
            }
        )
        monitor.finish()
        return found.withLock { $0 }
    }
}
