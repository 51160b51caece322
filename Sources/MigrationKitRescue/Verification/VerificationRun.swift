import GRDB
import MigrationKitKeys
import MigrationKitPages
import MigrationKitSQLCipher
import MigrationKitSchema

/// One run of a ``DatabaseVerification``.
struct VerificationRun {
    private let verification: DatabaseVerification
    private let monitor: VerificationMonitor
    private let file: DatabaseFile

    init(_ verification: DatabaseVerification) {
        self.verification = verification
        monitor = VerificationMonitor(verification.options)
        file = DatabaseFile(verification.path)
    }

    func run() throws -> [VerificationCheck] {
        // Before opening, which may roll back a journal, and closing, which moves the log into the
        // database.
        let report = try inspect(checksPages: false)
        try report.checkJournals()
        try monitor.check("file_modes") {
            var outcome = try FileModes(file, allowsGroup: verification.allowsGroup).outcome()
            for leftover in report.leftovers { outcome.add(.leftover(leftover)) }
            if outcome.detail == nil, outcome.count > 0 {
                outcome.detail = "a run that was killed left files beside the database"
            }
            return outcome
        }
        let log = try monitor.check("write_ahead_log") { try checkLog(report) }
        // Closing then leaves the log and its shared memory, unless the database is locked
        // exclusively.
        let hasSharedMemory = report.journal("-shm") != nil
        guard let writer = try open(report, isExclusive: !log.ok && !hasSharedMemory) else {
            return monitor.checks
        }
        defer { if verification.closes { try? writer.close() } }
        do {
            if !log.ok {
                writer.writeWithoutTransaction { $0.setCheckpointOnClose(false) }
            }
            try checkContent(of: writer, report)
        } catch let error as DatabaseError {
            throw EncryptedDatabaseError(error, path: file.path) ?? error
        }
        return monitor.checks
    }

    /// Checks only what is in the database, which is open and nobody else's.
    func runOnContent(of writer: any DatabaseWriter) throws -> [VerificationCheck] {
        try checkContent(of: writer, inspect(checksPages: false))
        return monitor.checks
    }

    private func checkContent(of writer: any DatabaseWriter, _ report: FileReport) throws {
        if report.kind == .plaintext {
            // There are no HMACs.
        } else if writer.configuration.readonly {
            try checkPagesOfUnwritable()
        } else {
            let log = report.journal("-wal")?.log
            try checkPages(of: writer, but: log?.committedPages ?? PageNumbers())
        }
        monitor.opensReader = try EncryptedDatabase.quietReaders(of: writer)
        let runner = try verification.runner ?? GRDBMigrationRunner(steps: [])
        try runner.runFullChecks(in: writer, verification.requiredIndexes, monitor)
        if verification.runner != nil {
            try runner.runLedgerCheck(in: writer, monitor)
        } else if let note = verification.migrationsNote {
            try monitor.skipComparisons(because: note)
        }
    }

    private func inspect(checksPages: Bool) throws -> FileReport {
        try EncryptedDatabase.inspect(
            file.path,
            key: verification.form?.key,
            cipher: verification.form?.cipher ?? .current,
            checksPages: checksPages
        )
    }

    // MARK: - The Log

    private func checkLog(_ report: FileReport) throws -> VerificationOutcome {
        guard let journal = report.journal("-wal"),
            journal.size > 0
        else { return VerificationOutcome(note: "there is no log, or an empty one") }
        var outcome = VerificationOutcome()
        if let log = journal.log {
            outcome.note =
                "\(log.committedFrameCount) of \(log.frameCount) frames committed"
            for (frame, page) in try unauthenticFrames(of: log, report) {
                outcome.add(
                    VerificationFinding(
                        "frame \(frame) of the log, for page \(page), is damaged",
                        page: page
                    )
                )
            }
        }
        if let frame = report.damage?.logFrame {
            outcome.add(
                VerificationFinding(
                    "frame \(frame) of the log is damaged, and SQLite sees no commits from there on"
                )
            )
        }
        if outcome.count > 0 {
            outcome.detail = """
                commits are damaged or lost; keep a copy of \(file.path)-wal before anything else \
                opens the database
                """
        }
        return outcome
    }

    private func unauthenticFrames(
        of log: WriteAheadLog,
        _ report: FileReport
    ) throws -> [(frame: Int, page: Int)] {
        guard case .opens(let cipher) = report.key, log.pageSize == cipher.pageSize,
            report.damage?.isSaltDamaged != true, let key = verification.form?.key,
            let salt = report.salt,
            let authentication = try PageAuthentication(
                key: key.derived(salt: salt, cipher: cipher),
                salt: salt,
                cipher: cipher
            )
        else { return [] }
        let found = try log.committedFrames(path: file.resolvedPath + "-wal") { page, number in
            !authentication.isAuthentic(page, number: number)
        }
        // A change of the key writes every page once more. The frames before it have the former key.
        let formerCount = zip(found, 1...).prefix { $0.frame == $1 }.count
        return log.hasEveryPage(from: formerCount) ? Array(found.dropFirst(formerCount)) : found
    }

    // MARK: - The Opening

    /// - Returns: `nil` if the database is too damaged to be opened.
    private func open(
        _ report: FileReport,
        isExclusive: Bool
    ) throws -> (any DatabaseWriter)? {
        var failure: (any Error)?
        var writer: (any DatabaseWriter)?
        try monitor.check("open") {
            do {
                writer = try verification.open(isExclusive)
                return VerificationOutcome()
            } catch {
                var outcome = try describe(error)
                if outcome.count == 0 {
                    failure = error
                    outcome.detail = error.localizedDescription
                    if report.key == .wrong {
                        outcome.note = "another key, other settings, or a damaged salt"
                    }
                }
                return outcome
            }
        }
        if let failure { throw failure }
        return writer
    }

    /// The damage of a database that can't be opened; empty if the reason isn't damage.
    private func describe(_ error: any Error) throws -> VerificationOutcome {
        var outcome = VerificationOutcome()
        var found = FileDamage()
        guard case EncryptedDatabaseError.damaged(_, let pages) = error else { return outcome }
        found.pages = pages
        if let damage = try inspect(checksPages: true).damage { found = damage }
        if found.isSaltDamaged {
            outcome.add(
                VerificationFinding(
                    "the salt, the file's first 16 bytes, is damaged; the key is right"
                )
            )
        }
        for page in found.pages { outcome.add(.damagedPage(page)) }
        if found.missingPageCount > 0 {
            let count = found.missingPageCount
            outcome.add(
                VerificationFinding(
                    "the file was cut short: its last \(count == 1 ? "page is" : "\(count) pages are") missing"
                )
            )
        }
        if let detail = found.detail { outcome.add(VerificationFinding("SQLite: \(detail)")) }
        if outcome.count == 0 {
            outcome.add(VerificationFinding("the content is damaged, but every page is intact"))
        }
        outcome.detail = "the database is too damaged to be opened"
        return outcome
    }

    // MARK: - The Pages

    /// - Parameter replaced: The pages that SQLite reads from the log.
    private func checkPages(of writer: any DatabaseWriter, but replaced: PageNumbers) throws {
        try monitor.check("cipher_integrity_check") {
            var outcome = VerificationOutcome()
            let setup = try ConnectionSetup.of(writer)
            try writer.writeWithoutTransaction { db in
                if replaced.greatestPage != nil {
                    outcome.note = "without the pages that write_ahead_log has checked in the log"
                }
                var stamp = try file.stamp
                for attempt in 1... {
                    let pages = try damagedPages(in: db, setup)?
                        .filter { replaced[$0] == nil }
                    let current = try file.stamp
                    // What looks damaged may be another program's unfinished checkpoint.
                    guard pages?.isEmpty != false || attempt == 3 || current == stamp else {
                        stamp = current
                        continue
                    }
                    if pages == nil { outcome.note = "not possible: the pages have no HMAC" }
                    for page in pages ?? [] { outcome.add(.damagedPage(page)) }
                    break
                }
            }
            note(pages: outcome.count, in: &outcome)
            return outcome
        }
    }

    /// Checks the pages of a file that is read in place, on a separate connection.
    private func checkPagesOfUnwritable() throws {
        try monitor.check("cipher_integrity_check") {
            guard verification.form?.key != nil else {
                return VerificationOutcome(note: "not checked: the database can't be written")
            }
            var outcome = VerificationOutcome(
                note: "without the log: the database can't be written"
            )
            let report = try inspect(checksPages: true)
            for page in report.damage?.pages ?? [] { outcome.add(.damagedPage(page)) }
            note(pages: outcome.count, in: &outcome)
            return outcome
        }
    }

    private func note(pages count: Int, in outcome: inout VerificationOutcome) {
        guard count > 0 else { return }
        outcome.detail = "\(count) \(count == 1 ? "page is" : "pages are") damaged"
    }

    /// - Parameter setup: `nil` if the host opened the database, and only it knows the key.
    /// - Returns: The damaged pages; `nil` if the pages have no HMAC.
    private func damagedPages(in db: Database, _ setup: ConnectionSetup?) throws -> [Int]? {
        var pages: [Int]?
        // In a transaction, so that no page is written while it is read.
        try db.inTransaction(.deferred) {
            _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_schema")
            pages =
                if let setup, let key = setup.key {
                    try damagedPages(in: db, key, setup.options.cipher)
                } else {
                    try damagedPagesAsTold(db)
                }
            return .commit
        }
        return pages
    }

    private func damagedPages(
        in db: Database,
        _ key: DatabaseKey,
        _ cipher: CipherSettings
    ) throws -> [Int]? {
        guard cipher.hmacAlgorithm != .off else { return nil }
        do {
            let bytes = try SharedBytes(of: db.sqliteConnection)
            return try DamagedPages(of: bytes, key: key, cipher: cipher).find { _ in
                try monitor.operation.checkCancellation()
            }
        } catch let code as CipherCode {
            throw DatabaseError(resultCode: ResultCode(rawValue: code.rawValue))
        }
    }

    /// Asks SQLCipher's own check, which mixes up the pages from 4 GiB on: see ``DamagedPages``.
    private func damagedPagesAsTold(_ db: Database) throws -> [Int]? {
        let pageSize = try Int.fetchOne(db, sql: "PRAGMA main.page_size") ?? 0
        var pages: [Int] = []
        for row in try String.fetchAll(db, sql: "PRAGMA main.cipher_integrity_check") {
            // "error reading 4096 bytes from file page 7 at offset 24576"
            guard !row.hasPrefix("error reading") else {
                throw EncryptedDatabaseError.inputOutput(path: file.path, detail: row)
            }
            // "HMAC verification failed for page 7", "page 7 has an invalid size of 12 bytes (...)"
            guard let match = row.firstMatch(of: /page (\d+)/), let page = Int(match.1) else {
                return nil
            }
            if (page - 1) * pageSize < 4 << 30 { pages.append(page) }
        }
        return pages
    }
}

extension VerificationFinding {
    fileprivate static func leftover(_ file: LeftoverFile) -> VerificationFinding {
        VerificationFinding(
            "\(file.path) was left by a run that was killed"
                + (file.isPlaintext ? ", and is plaintext" : "")
                + ": delete it, or run the command again, which deletes it"
        )
    }

    fileprivate static func damagedPage(_ page: Int) -> VerificationFinding {
        VerificationFinding("page \(page) is damaged", page: page)
    }
}
