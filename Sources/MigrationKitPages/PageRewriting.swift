import CSQLCipher
import Foundation
import MigrationKitKeys
import MigrationKitCommon

/// Writes the pages of a database into a new file with another key, or without one if they have none,
/// and compares them afterwards. It uses all processors, and doesn't use SQLite.
///
/// The new file gets each page as it is: the free ones, too, and everything in the header. What comes
/// after a page's content, initialization vector and HMAC, is made anew.
package final class PageRewriting: Sendable {
    /// How the pages of a file are encrypted.
    package struct Encryption: Sendable {
        let key: DatabaseKey
        let salt: [UInt8]
        let cipher: CipherSettings

        /// - Parameters:
        ///   - key: A raw key.
        ///   - salt: The file's salt.
        package init(key: DatabaseKey, salt: [UInt8], cipher: CipherSettings) {
            (self.key, self.salt, self.cipher) = (key, salt, cipher)
        }
    }

    /// The content of pages that can't be read, and don't have to be.
    package struct Substitutes: Sendable {
        /// Pages that have another content in the new file. It is as long as what isn't zero.
        package var contents: [Int: [UInt8]] = [:]
        /// Pages that are empty in the new file if they are damaged.
        package var empty: Set<Int> = []

        package init() {}
    }

    private let pageSize: Int
    private let count: Int
    private let path: String
    private let encryption: Encryption?
    private let substitutes: Substitutes
    private let digests: PageDigests
    private let damaged = Locked<[Int]>([])

    /// - Parameters:
    ///   - path: The new file, which is empty.
    ///   - encryption: How it is encrypted; `nil` if it isn't.
    ///   - pageSize: The size of a page in bytes.
    ///   - count: How many pages there are.
    ///   - substitutes: Pages that have another content in the new file.
    package init(
        to path: String,
        _ encryption: Encryption?,
        pageSize: Int,
        count: Int,
        substitutes: Substitutes = Substitutes()
    ) throws {
        self.pageSize = pageSize
        self.count = count
        self.path = path
        self.encryption = encryption
        self.substitutes = substitutes
        digests = PageDigests(
            count: count,
            contentCount: pageSize - (encryption?.cipher.reservedCount ?? 0)
        )
    }

    package var byteCount: Int { count * pageSize }

    private var lockPage: Int { DatabaseHeader.lockPage(pageSize: pageSize) }

    // MARK: - Copying

    /// Copies the pages.
    ///
    /// - Parameters:
    ///   - source: The pages.
    ///   - sourceEncryption: How they are encrypted, in the same form with another key or salt; `nil`
    ///     if they aren't.
    ///   - watch: Called regularly with the number of bytes that are done. It may throw.
    /// - Throws: ``PageRewritingError``; what `watch` throws; an ``EncryptedDatabaseError`` if a log
    ///   can't be read.
    package func copy(
        _ source: DatabasePages,
        _ sourceEncryption: Encryption?,
        watch: (_ byteCount: Int) throws -> Void
    ) throws {
        let file = try PageFile(path)
        try onThreads(watch) {
            let thread = try CopyingThread(
                decryption: PageTransformation(sourceEncryption, isEncrypting: false),
                encryption: PageTransformation(encryption, isEncrypting: true),
                digests: digests.check(),
                buffer: makeChunk()
            )
            return { try self.copy($0, of: source, to: file, thread) }
        }
        let pages = damaged.withLock { $0.sorted() }
        guard pages.isEmpty else { throw PageRewritingError.damaged(pages) }
        try file.close()
    }

    private func copy(
        _ numbers: Range<Int>,
        of source: DatabasePages,
        to file: PageFile,
        _ thread: CopyingThread
    ) throws {
        let bytes = thread.buffer.bytes(numbers.count)
        do {
            try source.read(numbers, into: bytes)
        } catch let code as CipherCode {
            throw PageRewritingError.unreadable(code)
        }
        for number in numbers where number != lockPage {
            let page = thread.buffer.page(number - numbers.lowerBound)
            guard decrypt(page, number, of: source, thread.decryption) else {
                damaged.withLock { $0.append(number) }
                continue
            }
            try thread.digests.set(UnsafeRawBufferPointer(page), number: number)
            if number == 1, let encryption, !encryption.cipher.hasPlaintextHeader {
                page.copyBytes(from: encryption.salt)
            }
            guard thread.encryption.transform(page, number: number) else {
                throw LibCryptoError.refused
            }
        }
        // Once a page is damaged, the others are only looked at.
        guard damaged.withLock(\.isEmpty) else { return }
        for run in numbers.runs(without: lockPage) {
            let start = (run.lowerBound - numbers.lowerBound) * pageSize
            let part = bytes[start..<(start + run.count * pageSize)]
            try file.write(
                UnsafeRawBufferPointer(rebasing: part),
                at: (run.lowerBound - 1) * pageSize
            )
        }
    }

    /// - Returns: Whether the page is intact.
    private func decrypt(
        _ page: UnsafeMutableRawBufferPointer,
        _ number: Int,
        of source: DatabasePages,
        _ decryption: PageTransformation
    ) -> Bool {
        if let content = substitutes.contents[number] {
            page.fill(content)
        } else if !source.isCutShort(number), decryption.transform(page, number: number) {
            return true
        } else if substitutes.empty.contains(number) {
            // SQLite also leaves out pages that were freed before they were ever written: the disk
            // gives zeros for them, as it may for a page in use that it has lost.
            page.fill([])
        } else {
            return false
        }
        return true
    }

    // MARK: - Comparing

    /// Reads the new file: whether each page is authentic, and has the content that was read from the
    /// database. The structure is checked in the same pass.
    ///
    /// - Parameter watch: Called regularly with the number of bytes that are done. It may throw.
    /// - Returns: What the new file consists of. If its structure is wrong, so is the database's.
    /// - Throws: ``PageRewritingError``; what `watch` throws.
    package func compare(
        _ watch: (_ byteCount: Int) throws -> Void
    ) throws -> StructureCheck.Report {
        let file = try PageFile(path)
        guard try file.size() == byteCount else { throw PageRewritingError.wrongSize }
        let failure = Locked<(any Error)?>(nil)
        let bytes = SharedBytes(count: byteCount) { buffer, offset in
            do {
                try file.read(buffer, at: offset)
                return .ok
            } catch {
                failure.withLock { $0 = $0 ?? error }
                return CipherCode(CipherCode.failedRead)
            }
        }
        let pages = DecryptedPages(bytes, pageSize: pageSize, encryption, digests)
        let report = try StructureCheck(keys: ContentKeys()).run(pages, reach: watch)
        // To the check, a page that the disk doesn't give is one more finding.
        if let failure = failure.withLock({ $0 }) { throw failure }
        // A structure without faults has led to every page. Otherwise, pages may not have been read,
        // or a page isn't as it was written.
        if !report.findings.isEmpty { try comparePages(file, watch) }
        return report
    }

    private func comparePages(
        _ file: PageFile,
        _ watch: (_ byteCount: Int) throws -> Void
    ) throws {
        try onThreads(watch) {
            let decryption = try PageTransformation(self.encryption, isEncrypting: false)
            let digests = try self.digests.check()
            let buffer = self.makeChunk()
            return { chunk in
                let bytes = buffer.bytes(chunk.count)
                try file.read(bytes, at: (chunk.lowerBound - 1) * self.pageSize)
                for number in chunk where number != self.lockPage {
                    let page = buffer.page(number - chunk.lowerBound)
                    guard decryption.transform(page, number: number) else {
                        throw PageRewritingError.notAuthentic(page: number)
                    }
                    guard digests.isEqual(UnsafeRawBufferPointer(page), number: number) else {
                        throw PageRewritingError.differs(page: number)
                    }
                }
            }
        }
    }

    // MARK: - Without Copying

    /// Whether the file has the pages of a database already. It is not changed.
    ///
    /// - Parameters:
    ///   - source: The pages.
    ///   - sourceEncryption: How they are encrypted, in the same form with another key or salt; `nil`
    ///     if they aren't.
    ///   - watch: Called regularly with the number of bytes that are done. It may throw.
    /// - Returns: `false` also if a page can't be decrypted.
    /// - Throws: A ``CipherCode`` or ``PageRewritingError`` if a file can't be read; what `watch`
    ///   throws.
    package func isDone(
        _ source: DatabasePages,
        _ sourceEncryption: Encryption?,
        watch: (_ byteCount: Int) throws -> Void
    ) throws -> Bool {
        let file = try PageFile(path)
        // A thread may let go of it later. Until then, it would look as if it were open here.
        defer { try? file.close() }
        guard try file.size() == byteCount else { return false }
        let contentCount = pageSize - (encryption?.cipher.reservedCount ?? 0)
        do {
            try onThreads(watch) {
                let sourceDecryption = try PageTransformation(sourceEncryption, isEncrypting: false)
                let decryption = try PageTransformation(self.encryption, isEncrypting: false)
                let (sourceBuffer, buffer) = (self.makeChunk(), self.makeChunk())
                return { numbers in
                    try source.read(numbers, into: sourceBuffer.bytes(numbers.count))
                    let start = (numbers.lowerBound - 1) * self.pageSize
                    try file.read(buffer.bytes(numbers.count), at: start)
                    for number in numbers where number != self.lockPage {
                        let sourcePage = sourceBuffer.page(number - numbers.lowerBound)
                        let page = buffer.page(number - numbers.lowerBound)
                        guard sourceDecryption.transform(sourcePage, number: number),
                            decryption.transform(page, number: number),
                            let first = sourcePage.baseAddress, let second = page.baseAddress,
                            memcmp(first, second, contentCount) == 0
                        else { throw PageRewritingError.differs(page: number) }
                    }
                }
            }
        } catch PageRewritingError.differs {
            return false
        }
        return true
    }

    // MARK: - Threads

    private func makeChunk() -> PageChunk {
        PageChunk(pageSize: pageSize, count: chunkCount)
    }

    /// How many pages are read and written at once.
    private var chunkCount: Int { max(1, 256 * 1024 / pageSize) }

    /// - Parameter make: Makes the work of one thread.
    private func onThreads(
        _ watch: (_ byteCount: Int) throws -> Void,
        _ make: () throws -> (Range<Int>) throws -> Void
    ) throws {
        let (count, size, pageSize) = (count, chunkCount, pageSize)
        let chunks = (count + size - 1) / size
        try WorkerThreads.run(
            chunks,
            watch: { try watch(min($0 * size, count) * pageSize) },
            make: {
                let work = try make()
                return { try work($0 * size + 1..<min(($0 + 1) * size, count) + 1) }
            }
        )
    }
}

/// Why the pages of a database couldn't be rewritten.
package enum PageRewritingError: Error, Equatable {
    /// Pages of the database that aren't as they were written, in order.
    case damaged([Int])
    /// The database can't be read.
    case unreadable(CipherCode)
    /// The new file can't be written or read, with this errno.
    case file(Int32)
    /// The new file has another size than was written.
    case wrongSize
    /// A page of the new file isn't as it was written.
    case notAuthentic(page: Int)
    /// A page of the new file is authentic and has another content.
    case differs(page: Int)
}

// MARK: - The Pages of One Thread

/// What a thread needs to copy pages, and shares with no other.
private struct CopyingThread {
    let decryption: PageTransformation
    let encryption: PageTransformation
    let digests: PageDigests.Check
    let buffer: PageChunk
}

/// Decrypts or encrypts pages in place, and checks or makes their HMAC. Without a key it does nothing.
private final class PageTransformation {
    private let cipher: PageCipher?
    private let authentication: PageAuthentication?
    private let isEncrypting: Bool

    init(_ encryption: PageRewriting.Encryption?, isEncrypting: Bool) throws {
        self.isEncrypting = isEncrypting
        cipher = try encryption.map {
            try PageCipher(key: $0.key, cipher: $0.cipher, isEncrypting: isEncrypting)
        }
        authentication = try encryption.flatMap {
            try PageAuthentication(key: $0.key, salt: $0.salt, cipher: $0.cipher)
        }
    }

    /// - Returns: Whether the page was intact, or could be encrypted.
    func transform(_ page: UnsafeMutableRawBufferPointer, number: Int) -> Bool {
        guard let cipher else { return true }
        if isEncrypting {
            return cipher.encrypt(page, number: number)
                && authentication?.authenticate(page, number: number) ?? true
        }
        return authentication?.isAuthentic(UnsafeRawBufferPointer(page), number: number) ?? true
            && cipher.decrypt(page, number: number)
    }
}

/// Consecutive pages in memory.
private final class PageChunk {
    private let memory: UnsafeMutableRawBufferPointer
    private let pageSize: Int

    init(pageSize: Int, count: Int) {
        self.pageSize = pageSize
        memory = .allocate(byteCount: pageSize * count, alignment: 4096)
    }

    deinit { memory.deallocate() }

    func bytes(_ count: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: memory[..<(count * pageSize)])
    }

    func page(_ index: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: memory[index * pageSize..<(index + 1) * pageSize])
    }
}

extension UnsafeMutableRawBufferPointer {
    /// Writes bytes, and zeros after them.
    fileprivate func fill(_ bytes: [UInt8]) {
        initializeMemory(as: UInt8.self, repeating: 0)
        copyBytes(from: bytes.prefix(count))
    }
}

extension Range<Int> {
    /// What is left without one number.
    fileprivate func runs(without number: Int) -> [Range<Int>] {
        guard contains(number) else { return [self] }
        return [lowerBound..<number, (number + 1)..<upperBound].filter { !$0.isEmpty }
    }
}

// MARK: - The New File

/// A file that this process has no connection to, read and written by several threads.
private final class PageFile: Sendable {
    private let descriptor: Int32
    private let isClosed = Locked(false)

    init(_ path: String) throws(PageRewritingError) {
        descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw .file(errno) }
    }

    deinit { try? close() }

    /// Closing may be the first to report a full disk or a quota.
    func close() throws {
        try isClosed.withLock { isClosed in
            guard !isClosed else { return }
            isClosed = true
            guard Glibc.close(descriptor) == 0 || errno == EINTR else {
                throw PageRewritingError.file(errno)
            }
        }
    }

    func size() throws(PageRewritingError) -> Int {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .file(errno) }
        return Int(status.st_size)
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws {
        try all(bytes.count) { done, count in
            pwrite(descriptor, bytes.baseAddress.map { $0 + done }, count, off_t(offset + done))
        }
    }

    func read(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int) throws {
        try all(bytes.count) { done, count in
            pread(descriptor, bytes.baseAddress.map { $0 + done }, count, off_t(offset + done))
        }
    }

    private func all(
        _ count: Int,
        _ move: (_ done: Int, _ rest: Int) -> Int
    ) throws(PageRewritingError) {
        let moved: Int
        do throws(POSIXError) {
            moved = try moveAll(count, move)
        } catch {
            throw .file(error.code.rawValue)
        }
        // The file ends, though it was long enough a moment ago.
        guard moved == count else { throw .wrongSize }
    }
}
