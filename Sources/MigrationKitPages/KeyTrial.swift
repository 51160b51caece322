import MigrationKitCommon
import MigrationKitKeys

/// Whether a key opens a file, and with which settings. All commands have their answer from here.
///
/// An HMAC proves a key, with any page of the file: the first may be damaged, or have another version in
/// a journal. A raw key decrypts without the salt, so that its first page or other pages make sense even
/// if the salt is damaged. Without HMACs, what makes sense is all there is.
/// <https://www.zetetic.net/sqlcipher/design/#database-encryption-and-key-derivation>
package struct KeyTrial: Sendable {
    /// What opens a file.
    package struct Fit: Sendable {
        package let cipher: CipherSettings
        /// Derived with ``salt``.
        package let key: DatabaseKey
        package let salt: [UInt8]
        /// That of the first page, or of its version in a journal; `nil` if it can't be read.
        package let header: DatabaseHeader?
        /// Whether a page is authentic or, without HMACs, the first one has a valid header. If not, the key
        /// only decrypts what makes sense.
        package let isProven: Bool
        /// Whether the key is that of the first page's version in a journal, which may be another file's.
        package let isOfJournal: Bool

        /// What the first page proves, and nothing here reads.
        fileprivate static func withOtherCipher(
            _ cipher: CipherSettings,
            _ key: DatabaseKey,
            _ salt: [UInt8]
        ) -> Fit {
            Fit(
                cipher: cipher,
                key: key,
                salt: salt,
                header: nil,
                isProven: true,
                isOfJournal: false
            )
        }
    }

    package enum Verdict: Sendable {
        /// The settings may be some with which nothing here reads the file (``CipherSettings/obstacle``).
        case opens(Fit)
        /// Other pages than the first prove the key, or the first has no valid header.
        case damaged(Fit)
        /// The key is right, but the salt isn't the one with which the pages were written.
        case saltDamaged(Fit)
        /// The file's header is in plaintext, and neither the settings nor the key have its salt.
        case saltNeeded
        case wrong

        /// `nil` if the key isn't the file's.
        package var fit: Fit? {
            switch self {
            case .opens(let fit), .damaged(let fit), .saltDamaged(let fit): fit
            case .saltNeeded, .wrong: nil
            }
        }
    }

    /// How many bytes ``Evidence`` has of a file's beginning: the largest page.
    package static let startCount = 65536

    private let evidence: Evidence

    package init(_ evidence: Evidence) {
        self.evidence = evidence
    }

    /// - Parameters:
    ///   - key: As it was given.
    ///   - settings: Those that are tried, the likeliest first.
    ///   - unusual: Those that are tried then. Among so many, only an authentic page or, without HMACs, the
    ///     header proves the key, not a page that makes sense; and only the file's beginning is looked at.
    ///   - salt: `nil` for the one that the file begins with, or that the settings have.
    ///   - derived: What is derived from the key already, for the same salt.
    ///   - check: Called before each settings are tried. If it throws, the trial ends.
    /// - Throws: What `check` and reading pages throw.
    package func verdict(
        _ key: DatabaseKey,
        among settings: [CipherSettings],
        unusual: [CipherSettings] = [],
        salt given: [UInt8]? = nil,
        derived: [CipherSettings.KeyDerivation: DatabaseKey] = [:],
        check: () throws -> Void = {}
    ) throws -> Verdict {
        var derived = derived
        var weaker: Verdict?
        // The first page decrypts to that of a database, and no HMAC proves it.
        var unproven: [(key: DatabaseKey, salt: [UInt8], cipher: CipherSettings)] = []
        // One of the settings for each key that SQLCipher 3 and before derive.
        var old: [(key: DatabaseKey, salt: [UInt8], cipher: CipherSettings)] = []
        let others = evidence.isOfMultipleCiphers ? settings.map(\.ofMultipleCiphers) : []
        let usual = others + settings
        for (index, cipher) in (usual + unusual).enumerated() {
            try check()
            let salt: [UInt8]
            do {
                salt = try given ?? cipher.salt(ofFile: evidence.start, key: key)
            } catch CipherSettingsError.noSalt {
                weaker = weaker ?? .saltNeeded
                continue
            }
            let raw =
                try derived[cipher.keyDerivation] ?? key.derived(salt: salt, cipher: cipher)
            derived[cipher.keyDerivation] = raw
            if cipher.kdfAlgorithm == .sha1, !cipher.hasPlaintextHeader,
                !old.contains(where: { $0.key == raw })
            {
                old.append((raw, salt, cipher))
            }
            let verdict = try verdict(
                raw,
                salt,
                cipher,
                isRaw: key.form == .rawKey,
                isUsual: index < usual.count
            )
            if let fit = verdict.fit, !fit.isProven, fit.header != nil {
                let isCommon = cipher.kdfAlgorithm.rawValue == cipher.hmacAlgorithm.rawValue
                if isCommon, cipher.pageCodes == .init() { unproven.append((raw, salt, cipher)) }
                if index >= usual.count { continue }
            }
            switch verdict {
            case .wrong, .saltNeeded: continue
            // A plaintext header may have another size. Then only the first page isn't authentic.
            case .damaged(let fit) where fit.isProven && !cipher.hasPlaintextHeader: return verdict
            case .damaged, .saltDamaged:
                if weaker?.fit == nil { weaker = verdict }
            case .opens: return verdict
            }
        }
        // Not where one of many salts is tried, which asks for no unusual settings.
        guard !unusual.isEmpty else { return weaker ?? .wrong }
        for (key, salt, cipher) in unproven {
            if let verdict = try withOtherPageCodes(key, salt, cipher) { return verdict }
        }
        for (key, salt, cipher) in old {
            let found = try cipher.withOtherCipher(key: key, salt: salt, page: evidence.firstPage)
            if let found { return .opens(.withOtherCipher(found, key, salt)) }
        }
        return weaker ?? .wrong
    }

    /// Tries what few programs set for HMACs.
    private func withOtherPageCodes(
        _ key: DatabaseKey,
        _ salt: [UInt8],
        _ cipher: CipherSettings
    ) throws -> Verdict? {
        let pages = [evidence.recovered, evidence.firstPage(of: cipher.pageSize)].compactMap(\.self)
        for cipher in cipher.withOtherPageCodes {
            guard let authentication = try PageAuthentication(key: key, salt: salt, cipher: cipher),
                pages.contains(where: { authentication.isAuthentic($0, number: 1) })
            else { continue }
            return try verdict(key, salt, cipher, isRaw: false, isUsual: false)
        }
        return nil
    }

    /// - Parameters:
    ///   - isRaw: Whether the key doesn't depend on the salt.
    ///   - isUsual: Whether what only makes sense counts, too.
    private func verdict(
        _ key: DatabaseKey,
        _ salt: [UInt8],
        _ cipher: CipherSettings,
        isRaw: Bool,
        isUsual: Bool
    ) throws -> Verdict {
        let first = evidence.firstPage(of: cipher.pageSize)
        let recovered = evidence.recovered
        func header(_ page: [UInt8]?) -> DatabaseHeader? {
            page.flatMap { DatabaseHeader(decrypting: $0, key: key, cipher: cipher) }
        }
        func fit(
            _ header: DatabaseHeader?,
            isProven: Bool = true,
            isOfJournal: Bool = false
        ) -> Fit {
            Fit(
                cipher: cipher,
                key: key,
                salt: salt,
                header: header,
                isProven: isProven,
                isOfJournal: isOfJournal
            )
        }
        guard let authentication = try PageAuthentication(key: key, salt: salt, cipher: cipher)
        else {
            if let header = header(first) { return .opens(fit(header)) }
            if let header = header(recovered) { return .opens(fit(header, isOfJournal: true)) }
            return try isUsual && isPlausible(key, cipher)
                ? .damaged(fit(nil, isProven: false)) : .wrong
        }
        func isAuthentic(_ page: [UInt8]?) -> Bool {
            page.map { authentication.isAuthentic($0, number: 1) } ?? false
        }
        if isAuthentic(recovered) {
            let fit = fit(header(recovered), isOfJournal: true)
            return fit.header == nil ? .damaged(fit) : .opens(fit)
        }
        let firstHeader = header(first)
        if let first, isAuthentic(first) {
            if firstHeader != nil { return .opens(fit(firstHeader)) }
            return try cipher.withOtherCipher(of: first, key: key, isAuthentic: true)
                .map { .opens(.withOtherCipher($0, key, salt)) } ?? .damaged(fit(nil))
        }
        let pages = try evidence.sample(cipher.pageSize).prefix(isUsual ? .max : 3)
        if pages.contains(where: { authentication.isAuthentic($0.bytes, number: $0.number) }) {
            return .damaged(fit(firstHeader))
        }
        // Nothing proves a plaintext header.
        guard isUsual || firstHeader != nil, !cipher.hasPlaintextHeader else { return .wrong }
        let fit = fit(firstHeader, isProven: false)
        guard isRaw else { return firstHeader == nil ? .wrong : .damaged(fit) }
        return try firstHeader != nil || isPlausible(key, cipher) ? .saltDamaged(fit) : .wrong
    }

    /// Whether a page makes sense. Random bytes hardly ever look like one of a b-tree.
    private func isPlausible(_ key: DatabaseKey, _ cipher: CipherSettings) throws -> Bool {
        let form = try PageForm(key: key, salt: nil, cipher: cipher)
        return try evidence.sample(cipher.pageSize).contains { page in
            guard page.number > 1 else {
                return DatabaseHeader(decrypting: page.bytes, key: key, cipher: cipher) != nil
            }
            guard let content = form.content(page.bytes, number: page.number) else { return false }
            let tree = TreePage(content, number: page.number, usableSize: form.usableSize)
            return tree.map { $0.badCellCount == 0 && !$0.cells.isEmpty } ?? false
        }
    }
}

extension KeyTrial {
    /// What a trial knows of a file.
    package final class Evidence: Sendable {
        package typealias Page = (number: Int, bytes: [UInt8])

        package let start: [UInt8]
        private let size: Int
        package let recovered: [UInt8]?
        private let readSample: @Sendable (_ pageSize: Int) throws -> [Page]
        private let samples = Locked<[Int: [Page]]>([:])

        /// - Parameters:
        ///   - start: The file's first ``KeyTrial/startCount`` bytes.
        ///   - size: The file's size, in bytes.
        ///   - recovered: The first page that SQLite takes from a journal; `nil` if it takes none.
        ///   - sample: Reads pages of a size, those of `PageAuthentication.sample` or others. It is
        ///     called once for each size.
        package init(
            start: [UInt8],
            size: Int,
            recovered: [UInt8]?,
            sample: @escaping @Sendable (_ pageSize: Int) throws -> [Page]
        ) {
            self.start = start
            self.size = size
            self.recovered = recovered
            readSample = sample
        }

        fileprivate var isOfMultipleCiphers: Bool { FileBeginning.multipleCiphers(start) != nil }

        /// The first page; `nil` if it isn't all there.
        fileprivate func firstPage(of pageSize: Int) -> [UInt8]? {
            pageSize <= min(size, start.count) ? Array(start.prefix(pageSize)) : nil
        }

        fileprivate func sample(_ pageSize: Int) throws -> [Page] {
            try samples.withLock { samples in
                if let pages = samples[pageSize] { return pages }
                let pages = try readSample(pageSize)
                samples[pageSize] = pages
                return pages
            }
        }

        /// The same without the journal.
        package var withoutRecovered: Evidence {
            Evidence(start: start, size: size, recovered: nil, sample: readSample)
        }
    }
}
