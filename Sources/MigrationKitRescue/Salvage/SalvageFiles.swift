import MigrationKitKeys
import MigrationKitPages

/// The files of a damaged database.
struct SalvageFiles: Sendable {
    /// `nil` if it is empty.
    let main: RawFile?
    let log: RawFile?
    let journal: RawFile?

    /// The ends of the names of the log and the journal.
    static let suffixes = ["-wal", "-journal"]

    init(_ path: String) throws {
        main = try RawFile.find(path).get()
        log = try RawFile.find(path + Self.suffixes[0]).get()
        journal = try RawFile.find(path + Self.suffixes[1]).get()
    }

    /// The salts under which the pages may have been written, each with the file beside the database that
    /// has it. The first page begins with the salt in every file.
    func salts(
        _ cipher: CipherSettings,
        _ key: DatabaseKey
    ) throws -> [(salt: [UInt8], source: SalvageReport.Journal.Kind?)] {
        var salts: [(salt: [UInt8], source: SalvageReport.Journal.Kind?)] = []
        if let start = try main?.read(at: 0, count: CipherSettings.saltCount) {
            salts.append((try cipher.salt(ofFile: start, key: key), nil))
        }
        // A salt that is kept elsewhere is in none of them.
        guard !cipher.hasPlaintextHeader else { return salts }
        for (kind, page) in try firstPagesBeside() {
            let salt = Array(page.prefix(CipherSettings.saltCount))
            guard !salts.contains(where: { $0.salt == salt }) else { continue }
            salts.append((salt, kind))
        }
        return salts
    }

    /// Versions of the first page in the log and the journal, the newest first.
    func firstPagesBeside() throws -> [(kind: SalvageReport.Journal.Kind, bytes: [UInt8])] {
        [
            (SalvageReport.Journal.Kind.writeAheadLog, try Self.pages(ofLog: log)),
            (.rollback, try Self.pages(ofJournal: journal)),
        ].flatMap { kind, pages in
            pages.filter { $0.number == 1 }.reversed().prefix(4).map { (kind, $0.bytes) }
        }
    }

    /// The sizes of pages in the log and the journal.
    func pageSizesBeside() -> [Int] {
        [(log, 8), (journal, 24)].compactMap { file, offset in
            (try? file?.read(at: offset, count: 4)).map { Int($0.word(0)) }
        }
    }

    /// What a trial of a key knows of them: pages of any of the files prove it. Some may be unreadable.
    func evidence() -> KeyTrial.Evidence {
        // A page after the first may be unreadable.
        let start = [KeyTrial.startCount, 4096, 1024, 512].lazy.compactMap { count in
            main.flatMap { file in
                (try? file.read(at: 0, count: min(file.size, count))).flatMap(\.self)
            }
        }.first
        return KeyTrial.Evidence(
            start: start ?? [],
            size: main?.size ?? 0,
            recovered: nil
        ) { size in
            let inFile = main.map { file in
                PageAuthentication.sample(ofPages: file.size / size).compactMap { number in
                    (try? file.read(at: (number - 1) * size, count: size)).map { (number, $0) }
                }
            }
            let most = 32
            return try (inFile ?? [])
                + (Self.pages(ofLog: log, most: most) + Self.pages(ofJournal: journal, most: most))
                .filter { $0.bytes.count == size }
        }
    }

    private static func pages(
        ofLog log: RawFile?,
        most: Int = .max
    ) throws -> [(number: Int, bytes: [UInt8])] {
        guard let log, let header = try log.read(at: 0, count: 32) else { return [] }
        return try pages(of: log, from: 32, header: 24, pageSize: Int(header.word(8)), end: 0, most)
    }

    private static func pages(
        ofJournal journal: RawFile?,
        most: Int = .max
    ) throws -> [(number: Int, bytes: [UInt8])] {
        guard let journal, let header = try journal.read(at: 0, count: 28) else { return [] }
        let (sector, size) = (Int(header.word(20)), Int(header.word(24)))
        guard (28...65536).contains(sector) else { return [] }
        return try pages(of: journal, from: sector, header: 4, pageSize: size, end: 4, most)
    }

    /// - Parameters:
    ///   - start: Where the first page's record is.
    ///   - header: How many bytes are before each page. They begin with its number.
    ///   - end: How many bytes are after it.
    private static func pages(
        of file: RawFile,
        from start: Int,
        header: Int,
        pageSize: Int,
        end: Int,
        _ most: Int
    ) throws -> [(number: Int, bytes: [UInt8])] {
        guard (512...65536).contains(pageSize), pageSize.nonzeroBitCount == 1 else { return [] }
        let size = header + pageSize + end
        let count = max(0, (file.size - start) / size)
        let step = max(1, count / most)
        var pages: [(number: Int, bytes: [UInt8])] = []
        for index in 0..<count where most == .max || index % step == 0 {
            let offset = start + index * size
            guard let number = try file.read(at: offset, count: 4)?.word(0) else { continue }
            // Of the others, only the salt of the first page is asked for.
            guard most < .max || number == 1 else { continue }
            guard let bytes = try file.read(at: offset + header, count: pageSize) else { continue }
            if pages.count > 8, most == .max { pages.removeFirst() }
            pages.append((Int(number), bytes))
        }
        return pages
    }
}
