import MigrationKitPages
import Foundation
import MigrationKitKeys
import MigrationKit
import MigrationKitGRDB
import MigrationKitSQLCipher

/// Inspects a file once, and reports what it finds.
struct ReportWriter {
    let file: DatabaseFile
    let key: DatabaseKey?
    let cipher: CipherSettings
    let countsRows: Bool
    let checksPages: Bool
    let operation: LongOperation<InspectionProgress>

    /// The result of opening.
    private struct Finding {
        var check = FileReport.KeyCheck.notGiven
        var content: DatabaseContent?
        var damage = FileDamage()
        var journal: JournalOwnership.Finding?
    }

    func report() throws -> FileReport {
        let look = try file.look()
        guard let size = look.size else {
            throw EncryptedDatabaseError.noSuchFile(path: file.path)
        }
        try look.checkAccess(forWriting: false)
        var journals = try file.journals
        let wasHot = try file.hasHotJournal
        let log = journals.lazy.compactMap(\.log).first
        var kind = FileReport.Kind.empty
        var hasPlaintextHeader = false
        var finding = Finding(check: key == nil ? .notGiven : .unneeded)
        var start: [UInt8] = []
        if size > 0 {
            do {
                let connection = try CipherConnection(immutable: file.absolutePath)
                start = try connection.bytes(at: 0, count: 65536)
            } catch {
                throw FileInspection.cannotRead(file, error)
            }
            // If the settings have one, a damaged first page may look like anything.
            hasPlaintextHeader =
                FileBeginning.hasPlaintextHeader(start, fileSize: size)
                || cipher.hasPlaintextHeader && start.starts(with: DatabaseHeader.magic)
                    && !FileBeginning.isCertainlyPlaintext(start)
            if start.starts(with: DatabaseHeader.magic), !hasPlaintextHeader {
                kind = .plaintext
                try readPlaintext(start, size: size, log: log, into: &finding)
            } else {
                if key == nil { finding.journal = try JournalOwnership.findingBySalt(look) }
                if let key {
                    try check(
                        key,
                        start,
                        hasPlaintextHeader: hasPlaintextHeader,
                        size: size,
                        log: log,
                        into: &finding
                    )
                }
                let isOpen = if case .opens = finding.check { true } else { false }
                kind = isOpen || size % 512 == 0 ? .encrypted : .notADatabase
            }
        }
        if size == 0, let suffix = try file.journalWithPages {
            finding.journal = .init(suffix: suffix, mismatch: .missingDatabase)
        }
        for index in journals.indices where journals[index].suffix == finding.journal?.suffix {
            journals[index].mismatch = finding.journal?.mismatch
        }
        // Checked after reading: a change may have begun meanwhile.
        let hasUnfinishedChange =
            try size > 0 && finding.journal?.suffix != "-journal" && (wasHot || file.hasHotJournal)
        if hasUnfinishedChange {
            finding.damage = FileDamage(isSaltDamaged: finding.damage.isSaltDamaged)
        }
        finding.damage.logFrame = journals.lazy.compactMap(\.lostFrame).first
        let named = hasPlaintextHeader ? FileBeginning.pageSize(inPlaintextHeader: start) : nil
        let pageSize = finding.content?.pageSize ?? log?.pageSize ?? named
        let status = try file.status
        return FileReport(
            path: file.path,
            linkTarget: file.linkTarget,
            size: size,
            mode: status.st_mode & 0o7777,
            ownerID: status.st_uid,
            owner: getpwuid(status.st_uid).map { String(cString: $0.pointee.pw_name) },
            kind: kind,
            pageSize: pageSize,
            possiblePageSizes: pageSize == nil && kind == .encrypted
                ? (size % 1024 == 0 ? 10...16 : 9...9).map { 1 << $0 }.filter { size % $0 == 0 }
                : [],
            salt: salt(kind, finding.check, start),
            hasPlaintextHeader: hasPlaintextHeader,
            multipleCiphers: kind == .encrypted ? FileBeginning.multipleCiphers(start) : nil,
            journals: journals,
            hasUnfinishedChange: hasUnfinishedChange,
            leftovers: try LeftoverFile.all(beside: file),
            key: finding.check,
            content: finding.content,
            damage: finding.damage == FileDamage() ? nil : finding.damage
        )
    }

    private func salt(
        _ kind: FileReport.Kind,
        _ check: FileReport.KeyCheck,
        _ start: [UInt8]
    ) -> [UInt8]? {
        guard start.starts(with: DatabaseHeader.magic) else {
            return kind == .encrypted ? Array(start.prefix(CipherSettings.saltCount)) : nil
        }
        guard let key, case .opens(let cipher) = check else { return nil }
        return try? cipher.salt(ofFile: start, key: key)
    }

    /// The settings to try: the given ones, those of every version, and what the file shows of its
    /// own.
    ///
    /// - Parameter pageSizes: What the file and those beside it name as its page size.
    private func candidates(hasPlaintextHeader: Bool, pageSizes: [Int]) -> [CipherSettings] {
        let sized =
            !hasPlaintextHeader
            ? [cipher.with(plaintextHeaderSize: 0, salt: nil)]
            : (cipher.hasPlaintextHeader ? [cipher] : []) + cipher.withOtherHeaderSizes
        let candidates = sized.flatMap(\.candidates)
        var seen = Set<CipherSettings>()
        return
            (candidates
            + pageSizes.flatMap { size in
                candidates.compactMap { try? $0.with(pageSize: size) }
            }).filter { seen.insert($0).inserted }
    }

    // MARK: - Plaintext

    private func readPlaintext(
        _ start: [UInt8],
        size: Int,
        log: WriteAheadLog?,
        into finding: inout Finding
    ) throws {
        finding.journal = try JournalOwnership(file.look(), key: nil, cipher: cipher).finding()
        guard let header = DatabaseHeader(start) else {
            finding.damage.pages = [1]
            return
        }
        let log = finding.journal == nil ? log : nil
        try describe(header, key: nil, cipher: nil, size: size, log: log, into: &finding)
    }

    // MARK: - With a key

    private func check(
        _ key: DatabaseKey,
        _ start: [UInt8],
        hasPlaintextHeader: Bool,
        size: Int,
        log: WriteAheadLog?,
        into finding: inout Finding
    ) throws {
        let look = try file.look()
        let evidence = try KeyTrial.Evidence(look)
        let named = hasPlaintextHeader ? FileBeginning.pageSize(inPlaintextHeader: start) : nil
        let candidates = candidates(
            hasPlaintextHeader: hasPlaintextHeader,
            pageSizes: [named, log?.pageSize, evidence.recovered?.count].compactMap { $0 }
        )
        let unusual = candidates[0].unusual(for: key)
        var verdict = try KeyTrial(evidence).verdict(
            key,
            among: candidates,
            unusual: unusual
        )
        var log = log
        if let fit = verdict.fit {
            finding.journal =
                try JournalOwnership(look, key: fit.key, cipher: fit.cipher).finding()
            if finding.journal != nil {
                log = nil
                verdict = try KeyTrial(evidence.withoutRecovered).verdict(
                    key,
                    among: candidates,
                    unusual: unusual
                )
            }
        }
        guard let fit = verdict.fit else {
            finding.check = if case .saltNeeded = verdict { .saltNeeded } else { .wrong }
            return
        }
        let cipher = fit.cipher
        finding.check = .opens(cipher)
        if case .saltDamaged = verdict {
            finding.content = fit.header?.content(pageCount: size / cipher.pageSize)
            finding.damage.isSaltDamaged = true
            return
        }
        let isDamaged = if case .damaged = verdict { true } else { false }
        if checksPages || isDamaged, cipher.hmacAlgorithm != .off {
            try findDamagedPages(key: fit.key, cipher: cipher, log: log, into: &finding.damage)
        }
        guard cipher.obstacle != .otherCipher else { return }
        guard let header = fit.header else {
            if finding.damage == FileDamage() { finding.damage.pages = [1] }
            return
        }
        guard !cipher.isOfMultipleCiphers, cipher.canBeSet else {
            // SQLCipher can't read it.
            finding.content = header.content(pageCount: size / cipher.pageSize)
            return
        }
        try describe(
            header,
            key: fit.key,
            cipher: cipher,
            size: size,
            log: log,
            into: &finding
        )
    }

    private func findDamagedPages(
        key: DatabaseKey,
        cipher: CipherSettings,
        log: WriteAheadLog?,
        into damage: inout FileDamage
    ) throws {
        do {
            let connection = try CipherConnection(immutable: file.absolutePath)
            let size = cipher.pageSize
            let count = try Int(file.status.st_size) / size
            damage.pages = try connection.damagedPages(key: key, cipher: cipher) { bytes in
                try operation.checkCancellation()
                operation.report(
                    InspectionProgress(checkedPages: bytes / size, pageCount: count)
                )
            }
            // SQLite reads those that are in the log from there.
            .filter { log?.committedPages[$0] == nil }
            damage.zeroPages = try damage.pages.filter { page in
                try operation.checkCancellation()
                return try connection.bytes(at: (page - 1) * size, count: size)
                    .allSatisfy { $0 == 0 }
            }
        } catch let code as CipherCode {
            throw FileInspection.cannotRead(file, code)
        }
    }

    // MARK: - Content

    private func describe(
        _ header: DatabaseHeader,
        key: DatabaseKey?,
        cipher: CipherSettings?,
        size: Int,
        log: WriteAheadLog?,
        into finding: inout Finding
    ) throws {
        let pageCount = (size + header.pageSize - 1) / header.pageSize
        var content = header.content(pageCount: pageCount)
        defer { finding.content = content }
        let usesLog = (log?.committedFrameCount ?? 0) > 0
        if !usesLog, content.pageCount > size / header.pageSize {
            // If only a part of the last page is there, it counts as missing.
            finding.damage.missingPageCount = content.pageCount - size / header.pageSize
        }
        if let key, let cipher,
            try !FileInspection(file.look(), cipher: cipher).hasHeader(with: key)
        {
            if finding.damage == FileDamage() { finding.damage.pages = [1] }
            return
        }
        let connection: CipherConnection
        do {
            connection =
                usesLog
                ? try CipherConnection(readingLogOf: file.absolutePath)
                : try CipherConnection(immutable: file.absolutePath)
        } catch {
            throw FileInspection.cannotRead(file, error)
        }
        if let key, let cipher, connection.setKey(key, cipher: cipher) != .ok { return }
        if usesLog { connection.keepLogIndexInMemory() }
        let schema = connection.column("SELECT count(*) FROM sqlite_schema", limit: 1)
        guard schema.code == .ok, schema.values.count == 1 else {
            if let code = connection.readFailure { throw FileInspection.cannotRead(file, code) }
            guard finding.damage == FileDamage() else { return }
            finding.damage.detail =
                header.isNewer ? "a newer SQLite wrote it" : connection.message
            return
        }
        if usesLog { content.readNumbers(from: connection) }
        content.readLedger(from: connection)
        if countsRows { content.readTables(from: connection) }
        if let code = connection.readFailure { throw FileInspection.cannotRead(file, code) }
    }
}

extension DatabaseContent {
    /// Replaces the header's values by those of a connection, which also reads the log.
    fileprivate mutating func readNumbers(from connection: borrowing CipherConnection) {
        pageCount = connection.number("PRAGMA page_count") ?? pageCount
        freePageCount = connection.number("PRAGMA freelist_count") ?? freePageCount
        userVersion = connection.number("PRAGMA user_version") ?? userVersion
        applicationID = connection.number("PRAGMA application_id") ?? applicationID
        journalMode = .wal
    }

    fileprivate mutating func readLedger(from connection: borrowing CipherConnection) {
        // Reading a view with this name might never end.
        let isTable = connection.number(
            """
            SELECT count(*) FROM main.sqlite_schema
            WHERE type = 'table' AND rootpage > 0 AND name = 'grdb_migrations' COLLATE NOCASE
            """
        )
        guard isTable == 1,
            let count = connection.number("SELECT count(*) FROM main.grdb_migrations")
        else { return }
        let latest = connection.column(
            "SELECT identifier FROM main.grdb_migrations ORDER BY rowid DESC",
            limit: 1
        )
        ledger = Ledger(appliedCount: count, latest: latest.values.first)
    }

    fileprivate mutating func readTables(from connection: borrowing CipherConnection) {
        let names = connection.column(
            """
            SELECT name FROM pragma_table_list WHERE schema = 'main'
            AND type IN ('table', 'virtual') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
            ORDER BY name
            """,
            limit: .max
        )
        guard names.code == .done else { return }
        var tables: [Table] = []
        for name in names.values {
            tables.append(
                Table(
                    name: name,
                    rowCount: connection.number("SELECT count(*) FROM \(name.quotedName)")
                )
            )
        }
        self.tables = tables
    }
}
