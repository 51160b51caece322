import Foundation
import MigrationKitCommon
import MigrationKitKeys
import MigrationKitPages

/// Whether the write-ahead log and the rollback journal beside a database are its own.
///
/// SQLite writes the pages of every log whose checksums fit, and of every journal of an unfinished
/// change, into whatever database lies beside it. If that isn't the database for which they were
/// written, it is destroyed. So this is checked before SQLite reads the file:
///
/// - Each page that would be written authenticates under the database's key and salt. Without HMACs, it
///   looks like a page of a database.
/// - If the first page is among them, it continues the database's. SQLite numbers the versions of that
///   page by the one that it read before, as that is in the file. A log's first version follows the
///   database's, unless the database already has one of the log's versions. In an encrypted database, it
///   may have another number after `ROLLBACK TO`; then the log must be the newer file, and leave a sound
///   structure.
/// - Undoing a change doesn't make a database more malformed.
/// - All records of a journal are there, if the change has reached the database.
///
/// A log without the first page that continues another state of the same database can't be recognized.
package struct JournalOwnership {
    /// What is beside a database and isn't its own.
    package struct Finding: Equatable {
        /// `-wal` or `-journal`.
        package let suffix: String
        package let mismatch: JournalMismatch

        package init(suffix: String, mismatch: JournalMismatch) {
            self.suffix = suffix
            self.mismatch = mismatch
        }

        package func error(path: String, isSound: Bool?) -> EncryptedDatabaseError {
            .otherJournal(
                path: path,
                journal: path + suffix,
                mismatch: mismatch,
                isSound: isSound
            )
        }
    }

    /// In a database of at most so many pages, each is read to judge a log.
    private static let mostCheckedPages = 512

    private let look: FileLook
    /// A raw key; `nil` if the database is in plaintext.
    private let key: DatabaseKey?
    private let cipher: CipherSettings

    private var file: DatabaseFile { look.file }

    package init(_ look: FileLook, key: DatabaseKey?, cipher: CipherSettings) {
        self.look = look
        self.key = key
        self.cipher = cipher
    }

    /// Throws if one of them isn't.
    ///
    /// - Throws: ``EncryptedDatabaseError/otherJournal(path:journal:mismatch:isSound:)``; other
    ///   ``EncryptedDatabaseError`` if something can't be read.
    func check() throws {
        guard try look.hasJournalContent, let finding = try finding() else { return }
        throw finding.error(path: file.path, isSound: try isSound())
    }

    /// What isn't the database's own; `nil` if everything is, or other programs are using it.
    package func finding() throws -> Finding? {
        // Another program may be writing just now.
        try file.confirmed {
            guard let finding = try judge(), try !isInUse() else { return nil }
            return finding
        }
    }

    private func judge() throws -> Finding? {
        let database = try Database(file, key: key, cipher: cipher)
        if try look.hasRollbackJournal,
            let raw = try RawFile.find(file.resolvedPath + "-journal").get(),
            let mismatch = try judgeJournal(raw, database)
        {
            return Finding(suffix: "-journal", mismatch: mismatch)
        }
        if try look.hasLog, let raw = try RawFile.find(file.resolvedPath + "-wal").get(),
            let log = try WriteAheadLog(raw), log.committedFrameCount > 0,
            let mismatch = try judge(log, raw, database)
        {
            return Finding(suffix: "-wal", mismatch: mismatch)
        }
        return nil
    }

    /// Whether others have the database open. A log or a journal that is in use is theirs.
    private func isInUse() throws -> Bool {
        guard let connection = try? KeylessConnection(file.absolutePath, isReadOnly: false) else {
            return false
        }
        return (try? connection.lockForWriting()) == false
    }

    /// One whose first page has another salt than the database. This needs no key.
    ///
    /// - Throws: ``EncryptedDatabaseError`` if something can't be read.
    package static func findingBySalt(_ look: FileLook) throws -> Finding? {
        guard look.size ?? 0 > 0, try look.hasJournalContent else { return nil }
        return try look.file.confirmed {
            do {
                let connection = try CipherConnection(immutable: look.file.absolutePath)
                let salt = try connection.bytes(at: 0, count: CipherSettings.saltCount)
                return try ["-journal", "-wal"].first { suffix in
                    let page = try look.file.firstPage(inJournal: suffix)
                    return page.map { !$0.starts(with: salt) } ?? false
                }.map { Finding(suffix: $0, mismatch: .salt) }
            } catch let code as CipherCode {
                throw FileInspection.cannotRead(look.file, code)
            }
        }
    }

    // MARK: - The Database

    /// The database's file, as it is without its journals.
    private final class Database {
        private let file: DatabaseFile
        let connection: CipherConnection
        let bytes: SharedBytes
        let form: PageForm
        let firstPage: [UInt8]
        private let key: DatabaseKey?
        private let cipher: CipherSettings

        init(_ file: DatabaseFile, key: DatabaseKey?, cipher: CipherSettings) throws {
            self.file = file
            self.key = key
            self.cipher = cipher
            do {
                connection = try CipherConnection(immutable: file.absolutePath)
                bytes = try connection.withHandle { try SharedBytes(of: $0) }
                let start = try connection.bytes(at: 0, count: DatabaseHeader.count)
                if let key {
                    let salt = try cipher.salt(ofFile: start, key: key)
                    form = try PageForm(key: key, salt: salt, cipher: cipher)
                } else {
                    form = PageForm(
                        pageSize: DatabaseHeader(start)?.pageSize ?? 0,
                        reservedCount: Int(start[20])
                    )
                }
                firstPage = try connection.bytes(at: 0, count: form.pageSize)
                let hasSalt = key != nil && !cipher.hasPlaintextHeader
                mark =
                    hasSalt ? Array(start.prefix(CipherSettings.saltCount)) : DatabaseHeader.magic
            } catch let code as CipherCode {
                throw FileInspection.cannotRead(file, code)
            }
        }

        var isEncrypted: Bool { key != nil }

        /// The number of whole pages.
        var pageCount: Int { form.pageSize == 0 ? 0 : bytes.count / form.pageSize }

        /// A page as it is in the file; `nil` if it isn't there.
        func page(_ number: Int) throws -> [UInt8]? {
            guard number <= pageCount else { return nil }
            return try connection.bytes(at: (number - 1) * form.pageSize, count: form.pageSize)
        }

        /// Whether at least one of some pages is intact: the key is the database's.
        func hasIntactPage() throws -> Bool {
            let count = pageCount
            return try PageAuthentication.sample(ofPages: count).contains { number in
                try page(number).map { accepts($0, number: number, pageCount: count) } ?? false
            }
        }

        /// The header of a version of the first page; `nil` if that isn't intact.
        func header(of page: [UInt8]) -> DatabaseHeader? {
            guard form.isIntact(page, number: 1), let content = form.content(page, number: 1)
            else { return nil }
            return DatabaseHeader(content)
        }

        /// What the first page begins with in each version: the salt, or the mark of a database.
        let mark: [UInt8]

        /// Whether a page can be one of this database, as far as that can be checked.
        ///
        /// - Parameter pageCount: The database's size with the page.
        func accepts(_ page: [UInt8], number: Int, pageCount: Int) -> Bool {
            guard !form.provesPages else { return form.isIntact(page, number: number) }
            guard let content = form.content(page, number: number) else { return false }
            guard number > 1 else { return DatabaseHeader(content)?.pageSize == form.pageSize }
            return content.isPage(usableSize: form.usableSize, pageCount: pageCount)
        }

        /// Why a page isn't accepted.
        func mismatch(_ page: [UInt8]?) -> JournalMismatch {
            if let page, !page.starts(with: mark) { return .salt }
            return form.provesPages ? .key : .content
        }

        /// Whether the file alone is sound.
        func isSound() throws -> Bool { try faultCount() == 0 }

        /// What is wrong with the file alone. An unfinished change may have left pages after its end.
        func faultCount() throws -> Int {
            let count = header(of: firstPage)?.pageCount ?? pageCount
            return try faultCount(count < pageCount ? bytes.prefix(count * form.pageSize) : bytes)
        }

        func isSound(_ bytes: SharedBytes) throws -> Bool { try faultCount(bytes) == 0 }

        /// What is wrong with a database, by its structure and by what authenticates its pages.
        ///
        /// - Throws: ``EncryptedDatabaseError`` if a page can't be read from the disk, which says nothing.
        func faultCount(_ bytes: SharedBytes) throws -> Int {
            do {
                let pages =
                    if let key {
                        DecryptedPages(encrypted: bytes, key: key, cipher: cipher)
                    } else {
                        try DecryptedPages(plaintext: bytes)
                    }
                // A power cut may tear a page that was free: SQLite keeps no older version of it.
                let check = StructureCheck(keys: ContentKeys(), readsFreePages: false)
                let report = try check.run(pages)
                if let failure = report.readFailure {
                    throw FileInspection.cannotRead(file, failure)
                }
                return report.findings.count
            } catch is CipherCode {
                return .max
            }
        }
    }

    private func isSound() throws -> Bool {
        try Database(file, key: key, cipher: cipher).isSound()
    }

    // MARK: - Rollback Journal

    private func judgeJournal(_ raw: RawFile, _ database: Database) throws -> JournalMismatch? {
        // A finished change may have left a name at the journal's end.
        guard let journal = try RollbackJournal(evenIfCommitted: raw) else { return nil }
        return switch try RollbackJournal.joining(of: raw) {
        case .moved: .superJournal
        case .none, .unfinished: try judge(journal, raw, database)
        // A database that only the undoing makes sound wasn't left by a finished change.
        case .committed: try isNeeded(journal, raw, database) ? .superJournal : nil
        }
    }

    private func isNeeded(
        _ journal: RollbackJournal,
        _ raw: RawFile,
        _ database: Database
    ) throws -> Bool {
        guard journal.pageSize == database.form.pageSize, journal.originalPageCount > 0,
            try !database.isSound()
        else { return false }
        let undone = SharedBytes(undoing: journal, in: raw, of: database.bytes)
        return try database.faultCount(undone) == 0
    }

    private func judge(
        _ journal: RollbackJournal,
        _ raw: RawFile,
        _ database: Database
    ) throws -> JournalMismatch? {
        let form = database.form
        guard journal.originalPageCount > 0 else {
            // The first change to a new file. The file is as long as its header says only if it was
            // written as a whole. A single page has no rows: first launches begin with it.
            guard let header = database.header(of: database.firstPage),
                let count = header.pageCount, count > 1, database.pageCount >= count
            else { return nil }
            return .emptyDatabase
        }
        // If the first page is torn, a plaintext database doesn't show its page size.
        guard form.pageSize > 0 else { return nil }
        guard journal.pageSize == form.pageSize else { return .pageSize }
        let pageCount = max(journal.originalPageCount, database.pageCount)
        var isChanged = database.pageCount != journal.originalPageCount
        var (acceptedCount, isDamaged) = (0, false)
        for number in journal.pages {
            guard let page = try journal.page(number, in: raw) else { return nil }
            guard database.accepts(page, number: number, pageCount: pageCount),
                number > 1 || page.starts(with: database.mark)
            else {
                isDamaged = true
                continue
            }
            acceptedCount += 1
            guard !isChanged else { continue }
            let current = try database.page(number)
            // SQLite encrypts a page once more for the journal.
            isChanged =
                current != page
                && current.flatMap { form.content($0, number: number) }
                    != form.content(page, number: number)
        }
        guard !isDamaged else {
            return form.provesPages && acceptedCount > 0
                ? .damaged : database.mismatch(try journal.page(1, in: raw))
        }
        // Undoing may be part of what others do.
        guard isChanged, try !isInUse() else { return nil }
        guard !journal.isDamaged else { return .damaged }
        let hasEveryPage = journal.offsets.hasEveryPage(
            of: journal.originalPageCount,
            pageSize: form.pageSize
        )
        guard try hasEveryPage || database.hasIntactPage() else { return .database }
        let undone = SharedBytes(undoing: journal, in: raw, of: database.bytes)
        let faultCount = try database.faultCount(undone)
        guard faultCount > 0 else { return nil }
        if try faultCount > database.faultCount() { return .state }
        // Whether records are missing can't be told of one that doesn't count them.
        return journal.isCounted ? nil : .damaged
    }

    // MARK: - Write-Ahead Log

    /// Whether a log was written before the database was, or was replaced. SQLite writes the log's pages into
    /// the database only after it has written the log.
    private func isOlder(_ log: RawFile) throws -> Bool {
        var status = stat()
        guard stat(log.path, &status) == 0 else { return false }
        let (own, database) = (status.st_mtim, try file.status.st_mtim)
        return (own.tv_sec, own.tv_nsec) < (database.tv_sec, database.tv_nsec)
    }

    private func judge(
        _ log: WriteAheadLog,
        _ raw: RawFile,
        _ database: Database
    ) throws -> JournalMismatch? {
        let form = database.form
        guard form.pageSize > 0 else {
            // A plaintext file whose first page is torn, or overwritten.
            let page = try log.firstPage(in: raw)
            let start = try database.connection.bytes(at: 0, count: log.pageSize)
            return page?.hasSector(of: start) == true ? nil : .database
        }
        guard log.pageSize == form.pageSize else { return .pageSize }
        let pageCount = max(log.databaseSize, database.pageCount)
        var firstPages: [[UInt8]] = []
        var sizes = SizeCheck(form.pageSize)
        var isOther = false
        for index in 0..<log.committedFrameCount {
            guard let (number, page, size) = try log.frame(index, in: raw) else { return nil }
            if number == 1 { firstPages.append(page) }
            sizes.note(number, size)
            guard log.committedPages[number] == index, number <= log.databaseSize, !isOther else {
                continue
            }
            isOther = !database.accepts(page, number: number, pageCount: pageCount)
        }
        let newest = firstPages.last
        guard !isOther, newest?.starts(with: database.mark) != false else {
            return database.mismatch(newest)
        }
        // SQLite counts on from the page as it read it, which is encrypted. It doesn't read it again
        // after its own changes.
        let first = firstPages.first.flatMap(database.header)
        let counter = first?.changeCounter
        let isNext = counter.map { $0 == database.firstPage.word(24) &+ 1 }
        guard let header = database.header(of: database.firstPage) else {
            // The page is torn, or it has the key before a change of the key, of which the log has all
            // pages.
            // A torn page has parts of the log's version. A single page has no rows.
            let isOwn =
                isNext == true && log.hasEveryPage() || database.pageCount <= 1
                || firstPages.contains { $0.hasSector(of: database.firstPage) }
            // Without a key, a page that makes sense may be any database's.
            return try isOwn || key != nil && database.hasIntactPage() ? nil : .database
        }
        // The database's is one of the log's if a checkpoint was interrupted.
        guard !firstPages.contains(database.firstPage) else { return nil }
        // SQLite changes the mode in the file before it makes a log, and deletes the log before it
        // changes it back.
        // <https://www.sqlite.org/fileformat.html#file_format_version_numbers>
        if !header.usesLog, first?.usesLog == true { return .state }
        let continues = first?.follows(header, database.firstPage) != false
        // After ROLLBACK TO, SQLCipher counts on from a number that is kept nowhere. Then only the pages can
        // tell, and which was written last.
        guard try continues || database.isEncrypted && !isOlder(raw) else { return .state }
        let size = header.pageCount ?? database.pageCount
        guard sizes.fits(size, mayShrink: header.hasPointerMaps) else { return .state }
        guard max(size, log.databaseSize) <= Self.mostCheckedPages || !continues else { return nil }
        let replayed = SharedBytes(replaying: log, in: raw, over: database.bytes)
        return try database.isSound(replayed) || !database.isSound() ? nil : .state
    }
}

/// The database's size in the course of a log.
private struct SizeCheck {
    private let pageSize: Int
    /// The transactions that gave the database another size than the one before: the size, and the first
    /// page from which on each is in the transaction.
    private var changes: [(size: Int, first: Int)] = []
    private var pages: Set<Int> = []

    init(_ pageSize: Int) { self.pageSize = pageSize }

    /// - Parameter size: The database's, if the frame ends a transaction.
    mutating func note(_ page: Int, _ size: Int?) {
        pages.insert(page)
        guard let size else { return }
        if size != changes.last?.size {
            let lockPage = DatabaseHeader.lockPage(pageSize: pageSize)
            var first = size + 1
            while first > 1, pages.contains(first - 1) || first - 1 == lockPage { first -= 1 }
            changes.append((size, first))
        }
        pages.removeAll(keepingCapacity: true)
    }

    /// Whether the log can begin at a size. A transaction has every page that the file lacks. Only VACUUM,
    /// which writes every page, and auto-vacuum make a file shorter.
    func fits(_ start: Int, mayShrink: Bool) -> Bool {
        var size = start
        for change in changes {
            guard change.size < size ? mayShrink || change.first == 1 : change.first <= size + 1
            else { return false }
            size = change.size
        }
        return true
    }
}

extension [UInt8] {
    /// Whether at least one of a page's sectors, other than of zeros, is the same in another version of it.
    /// A write that is cut off leaves each sector of 512 bytes old or new.
    fileprivate func hasSector(of other: [UInt8]) -> Bool {
        stride(from: 0, to: Swift.min(count, other.count), by: 512).contains {
            let sector = self[$0..<$0 + 512]
            return sector == other[$0..<$0 + 512] && sector.contains { $0 != 0 }
        }
    }

    /// Whether a decrypted page, other than the first, looks like one of a database: of a tree, or one
    /// that begins with the number of another page. <https://www.sqlite.org/fileformat.html>
    fileprivate func isPage(usableSize: Int, pageCount: Int) -> Bool {
        guard let kind = first else { return false }
        if [2, 5, 10, 13].contains(kind) {
            let headerCount = kind < 8 ? 12 : 8
            let start = half(5) == 0 ? 65536 : half(5)
            if headerCount + 2 * half(3) <= start, start <= usableSize { return true }
        }
        // A pointer map: each entry has a kind and the number of a page.
        if (1...5).contains(kind), self[1...4].reduce(0, { $0 << 8 | Int($1) }) <= pageCount {
            return true
        }
        return Int(word(0)) <= pageCount
    }
}
