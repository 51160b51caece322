import MigrationKitRescue
import MigrationKitSQLCipher

extension FileReport {
    /// The permissions, in octal digits.
    fileprivate var modeText: String { mode.octalMode }
}

// MARK: - Inspection Text

/// What `inspect` prints for people: a name and a value in each line.
struct InspectionText {
    private var rows: [(name: String, value: String)] = []
    private var tables: [DatabaseContent.Table] = []

    /// - Parameter users: The other processes that have the file open.
    init(_ report: FileReport, _ users: [OpenProcess]) {
        add("File", report.path.printable)
        add("Link to", report.linkTarget?.printable)
        add("Size", bytes(report.size))
        let owner = report.owner?.printable ?? "user \(report.ownerID)"
        add("Mode", "\(report.modeText), owner \(owner)")
        add("Kind", Self.kind(report))
        let saltIsElsewhere = report.hasPlaintextHeader && report.salt == nil
        add("Salt", saltIsElsewhere ? "not in the file: its app keeps it" : report.saltText)
        if !report.possiblePageSizes.isEmpty {
            let sizes = report.possiblePageSizes.map(String.init).joined(separator: ", ")
            add("Page size", "one of \(sizes)")
        } else if report.content == nil {
            add("Page size", report.pageSize.map(bytes))
        }
        for journal in report.journals { add("Beside it", Self.describe(journal)) }
        for journal in report.journals {
            add(
                "Not its own",
                journal.mismatch.map { "\(journal.suffix): \($0.reason). \(Self.mismatch)" }
            )
        }
        if report.hasUnfinishedChange { add("Unfinished", Self.unfinishedChange) }
        for file in report.leftovers { add("Left over", Self.describe(file)) }
        add("Open in", users.isEmpty ? nil : users.listed)
        add("Key", Self.key(report))
        if let cipher = report.cipher {
            add("Settings", Self.describe(cipher))
            add("", cipher.description)
            if !cipher.isVersion, !cipher.options.isEmpty, cipher.canBeSet {
                add("Options", cipher.options.joined(separator: " "))
            }
            if cipher.hmacAlgorithm == .off {
                add("Page check", "not possible: without HMAC, damage looks like content")
            }
            let engine = EncryptedDatabase.engine
            add("Read with", "SQLCipher \(engine.cipherVersion)")
            if !engine.faults.isEmpty {
                let names = engine.faults.map(\.name).joined(separator: ", ")
                add("Its faults", "\(names); see --version")
            }
            switch cipher.obstacle {
            case nil where cipher.compatibility < CipherSettings.current.compatibility:
                add("To convert", "\(Program.name) upgrade")
            case .mask, .smallPages: add("To convert", "\(Program.name) salvage")
            case nil, .otherCipher: break
            }
        }
        add(report.content)
        add(report.damage, pageCount: report.content?.pageCount)
    }

    /// - Parameter width: The columns of a line.
    func text(width: Int) -> String {
        let column = (rows.map(\.name.count).max() ?? 0) + 2
        var lines = rows.flatMap { row in
            row.value[...].wrapped(to: width - column).enumerated().map { index, part in
                (index == 0 ? row.name : "").padded(to: column) + part
            }
        }
        if !tables.isEmpty {
            lines.append("")
            let counts = tables.map { [$0.rowCount.map(String.init) ?? "?", $0.name.printable] }
            lines.append(table(["ROWS", "TABLE"], counts))
        }
        return lines.joined(separator: "\n")
    }

    // MARK: -

    private mutating func add(_ name: String, _ value: String?) {
        if let value { rows.append((name, value)) }
    }

    private mutating func add(_ content: DatabaseContent?) {
        guard let content else { return }
        add(
            "Pages",
            "\(content.pageCount) of \(bytes(content.pageSize)), \(content.freePageCount) free"
        )
        add("User version", "\(content.userVersion)")
        add("Application", "\(content.applicationID)")
        add("Journal mode", content.journalMode.rawValue)
        add("Auto-vacuum", content.autoVacuum.rawValue)
        add("Encoding", content.encoding)
        if let ledger = content.ledger {
            let latest = ledger.latest.map { ", latest \($0.printable)" } ?? ""
            add("Migrations", "\(ledger.appliedCount) applied\(latest)")
        } else {
            add("Migrations", "no readable ledger")
        }
        if let tables = content.tables {
            if tables.isEmpty { add("Tables", "none") }
            self.tables = tables
        }
    }

    /// - Parameter pageCount: How many pages the database has, which may be fewer than the file.
    private mutating func add(_ damage: FileDamage?, pageCount: Int?) {
        guard let damage else { return }
        if damage.isSaltDamaged {
            add("Damage", "the salt, the file's first 16 bytes; the key is right")
        }
        if !damage.pages.isEmpty {
            add("Damage", pageList(damage.pages))
            if !damage.zeroPages.isEmpty {
                add("", "zeros: \(pageList(damage.zeroPages)), \(Self.zeros)")
            }
            let last = pageCount ?? .max
            let behind = damage.pages.filter { $0 > last }
            if !behind.isEmpty {
                add("", "SQLite doesn't read \(pageList(behind)): the database ends before.")
            }
            let zeros = Set(damage.zeroPages)
            let other = damage.pages.filter { $0 <= last && !zeros.contains($0) }
            // Up to the last page, without a gap.
            if let first = other.first, other.count > 1, other.last == last,
                other.count == last - first + 1
            {
                add("", "\(pageList(other)) \(Self.otherKey)")
            }
        }
        if damage.missingPageCount > 0 {
            let noun = damage.missingPageCount == 1 ? "page" : "pages"
            add("Damage", "truncated: the last \(damage.missingPageCount) \(noun) missing")
        }
        if let frame = damage.logFrame {
            add("Damage", "frame \(frame) of the write-ahead log; what came after it is lost")
        }
        if let detail = damage.detail { add("Damage", "SQLite says: \(detail.printable)") }
    }

    private static let zeros = "never written, or cut off before the file grew again"
    private static let otherKey = """
        may have another key: a change of the key was interrupted, and lost its journal. \
        'salvage --second-password-file' reads both.
        """

    private static let unfinishedChange = """
        a journal is beside the file. Either a program is writing now, or one was killed. The next \
        program that opens the file for writing undoes the change. Check for damage after that.
        """

    private static func kind(_ report: FileReport) -> String {
        if let ciphers = report.multipleCiphers {
            return "of SQLite3 Multiple Ciphers, encrypted with \(ciphers)"
        }
        return switch (report.kind, report.key) {
        case (.plaintext, _): "a SQLite database that is not encrypted"
        case (.empty, _): "empty: a new database to SQLite"
        case (.notADatabase, _): "not a database, or a truncated one"
        case (.encrypted, .opens) where report.hasPlaintextHeader:
            "an encrypted database with a plaintext header"
        case (.encrypted, _) where report.hasPlaintextHeader:
            "encrypted after a plaintext header, as apps for Apple's systems do"
        case (.encrypted, .opens): "an encrypted database"
        case (.encrypted, _): "encrypted, or not a database"
        }
    }

    private static func key(_ report: FileReport) -> String {
        switch report.key {
        case .notGiven: "none given"
        case .unneeded: "not needed"
        case .opens(let cipher) where cipher.obstacle == .otherCipher:
            "is the file's, but SQLCipher 4 can't decrypt it"
        case .opens: "opens the file"
        case .wrong where report.kind == .notADatabase: "doesn't open the file"
        case .wrong where report.hasPlaintextHeader:
            "doesn't open the file: another key, another salt, or other settings"
        case .wrong: "doesn't open the file: another key, other settings, or a damaged salt"
        case .saltNeeded: "not tried: the salt isn't given (--cipher-salt)"
        }
    }

    private static func describe(_ cipher: CipherSettings) -> String {
        "SQLCipher \(cipher.compatibility)" + (cipher.isVersion ? "" : " with changes")
    }

    private static func describe(_ file: LeftoverFile) -> String {
        let content = file.isPlaintext ? "a plaintext database" : "not plaintext"
        return """
            by a run that was killed: \(file.path.printable), \(bytes(file.size)), \(content). The \
            next run that rewrites the database removes it, or remove it yourself.
            """
    }

    private static let mismatch = """
        SQLite would write it into the database, so no command opens that. Keep both, and give it another \
        name.
        """

    private static func describe(_ journal: JournalFile) -> String {
        var text = "\(journal.suffix), \(journal.size) bytes"
        if let log = journal.log {
            text += ", \(log.committedFrameCount) of \(log.frameCount) frames committed"
        }
        return text
    }
}

private func bytes(_ count: Int) -> String { "\(count) bytes" }
