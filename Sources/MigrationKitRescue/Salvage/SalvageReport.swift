import MigrationKitCommon

/// What a ``DatabaseSalvage`` has recovered, and what was lost.
public struct SalvageReport: Equatable, Sendable {
    /// The state of the salt, the first 16 bytes of an encrypted file.
    public enum Salt: String, Encodable, Sendable {
        /// It is intact, or not needed.
        case intact
        /// It was damaged, and was found: one of its bits was wrong, or
        /// ``SalvageReport/saltSource`` has it.
        case repaired
        /// It is lost. The raw key decrypts the pages, but they can't be authenticated.
        case lost
    }

    /// A damaged or missing page, or several in a row that have the same problem and use.
    public struct DamagedPage: Equatable, Sendable {
        /// What is wrong with a page.
        public enum Problem: String, Encodable, Sendable {
            /// It can't be read.
            case damaged
            /// The file ends before it.
            case missing
            /// The newest version, in the write-ahead log or rollback journal, is damaged, and an
            /// older one was read.
            case older
        }

        /// What a page is for.
        public enum Use: Equatable, Sendable {
            /// Rows of a table.
            case table(String)
            /// An index, or a part of a full-text index. It was rebuilt.
            case index(String)
            /// The schema. Page 1 also contains the database's header.
            case schema
            /// Nothing: it is free.
            case free
            /// A pointer map. Its content is also known from other pages.
            case pointerMap
            /// Unknown.
            case unknown
        }

        /// The number of the first page, from 1.
        public var number: Int { numbers.lowerBound }
        /// The numbers of all of them.
        public internal(set) var numbers: ClosedRange<Int>
        /// What is wrong with it.
        public let problem: Problem
        /// What it was for.
        public let use: Use
    }

    /// A place in a table where rows are, or may be, missing.
    public struct Gap: Equatable, Encodable, Sendable {
        /// The page that contained them, or led to them; `nil` if it isn't known.
        public let page: Int?
        /// Their rowids are greater than this one; `nil` if there is no lower limit, or the table
        /// has no rowids.
        public let after: Int64?
        /// Their rowids are at most this one; `nil` if there is no upper limit.
        public let through: Int64?
        /// The most rows that can be missing; `nil` if that isn't known.
        public let mostRows: Int?
    }

    /// A table of the new file.
    public struct Table: Equatable, Sendable {
        /// Its name.
        public let name: String
        /// The number of recovered rows.
        public internal(set) var rowCount = 0
        /// The number of rows that are known to be lost, since a part of them is.
        public internal(set) var lostRowCount = 0
        /// The number of rows that the table refused, such as a second one with the same key. They
        /// are in ``SalvageReport/lostAndFound``.
        public internal(set) var refusedRowCount = 0
        /// The places where more rows may be lost.
        public internal(set) var gaps: [Gap] = []

        /// The most rows that can be lost in total; `nil` if that isn't known.
        public var mostLostRows: Int? {
            gaps.reduce(lostRowCount) { sum, gap in
                guard let sum, let most = gap.mostRows else { return nil }
                return sum + most
            }
        }
    }

    /// A table for rows whose table is unknown.
    public struct LostAndFound: Equatable, Encodable, Sendable {
        /// `lost_and_found`, followed by a number if the database already has such a table.
        public let table: String
        /// The number of its rows.
        public let rowCount: Int
        /// The number of rows among them that are known to be lost.
        public let lostRowCount: Int

        private enum CodingKeys: String, CodingKey {
            case table
            case rowCount = "rows"
            case lostRowCount = "lostRows"
        }
    }

    /// An object that could not be created in the new file.
    public struct Unmade: Equatable, Encodable, Sendable {
        /// `table`, `index`, `view` or `trigger`.
        public let type: String
        /// Its name.
        public let name: String
        /// SQLite's message.
        public let reason: String
    }

    /// The journal beside the file.
    public struct Journal: Equatable, Encodable, Sendable {
        /// What a journal is for.
        public enum Kind: String, Encodable, Sendable {
            /// A write-ahead log: its pages take precedence over those of the file.
            case writeAheadLog
            /// A rollback journal of an unfinished change, which was undone in the new file.
            case rollback
        }

        /// Why a journal was left out.
        public enum Reason: String, Encodable, Sendable {
            /// None of its pages was written with the key and the salt.
            case otherKey
            /// It was written before the file's newest pages, or long after its oldest ones.
            case otherTime
            /// Its pages contradict those of the file, and are intact.
            case contradicts
            /// Pages of a rollback journal are damaged, so that it can't undo the change as a whole, and the
            /// file without it is sound.
            case damaged
        }

        /// What it is.
        public let kind: Kind
        /// How many frames, or page images, count.
        public let frameCount: Int
        /// The damaged ones among them, from 1; 0 is the header.
        public let damagedFrames: [Int]

        /// Why it was left out; `nil` if its pages were used.
        public var leftOut: Reason?
        /// How many rows the tables of the file have with it.
        public var rowCountWith: Int?
        /// How many they have without it.
        public var rowCountWithout: Int?

        private enum CodingKeys: String, CodingKey {
            case kind
            case frameCount = "frames"
            case damagedFrames
            case leftOut
            case rowCountWith = "rowsWith"
            case rowCountWithout = "rowsWithout"
        }
    }

    /// The damaged file, with its links resolved.
    public let path: String
    /// The new file.
    public let outputPath: String
    /// The state of the salt.
    public let salt: Salt
    /// Which file beside the database had the salt, if its own was damaged; `nil` otherwise.
    public let saltSource: Journal.Kind?
    /// Whether each page has an HMAC. Otherwise damage that makes sense isn't noticed.
    public let provesPages: Bool
    /// The page size in bytes.
    public let pageSize: Int
    /// The number of pages that the database has, or had.
    public let pageCount: Int
    /// The number of pages according to the header, the log or the journal, if it is wrong: no page leads
    /// to one that there would be, or a tree has more. `nil` if it is right.
    public let wrongPageCount: Int?
    /// The damaged pages, in order.
    public let damagedPages: [DamagedPage]
    /// How many pages are missing at the end. They are included in ``damagedPages``.
    public let missingPageCount: Int
    /// The journal beside the file; `nil` if there is none that counts.
    public let journal: Journal?
    /// Whether the whole schema was read. Otherwise there may have been more tables.
    public let isSchemaWhole: Bool
    /// The tables among ``tables`` that have their names from migrations, since their entries in the schema
    /// are lost.
    public let namedTables: [String]
    /// Why migrations could give no names; `nil` if they did, or weren't needed.
    public let unnamedReason: String?
    /// The tables of the new file, sorted by name. They include SQLite's own, but not those of
    /// full-text indexes that were rebuilt.
    public let tables: [Table]
    /// The rows whose table is unknown; `nil` if there are none.
    public let lostAndFound: LostAndFound?
    /// The objects that could not be created.
    public let unmade: [Unmade]
    /// How long it took, in seconds.
    public let seconds: Double

    /// Whether everything was recovered, and is in its place. SQLite's statistics don't count: `ANALYZE`
    /// makes them anew. <https://www.sqlite.org/lang_analyze.html>
    public var isComplete: Bool {
        func isStatistics(_ name: String) -> Bool { name.hasPrefix("sqlite_stat") }
        return isSchemaWhole && unmade.allSatisfy { isStatistics($0.name) } && lostAndFound == nil
            && !mayLackPages
            && tables.allSatisfy {
                isStatistics($0.name)
                    || $0.lostRowCount == 0 && $0.refusedRowCount == 0 && $0.gaps.isEmpty
            }
    }

    /// Whether damage in the journal beside the file may be about other pages than those that are known: a
    /// page whose image in a rollback journal is damaged keeps what was never committed; and without HMACs,
    /// a frame may belong to another page than it says. A log that takes rows away may be of an earlier time.
    private var mayLackPages: Bool {
        guard let journal, !journal.damagedFrames.isEmpty else { return false }
        return switch journal.leftOut {
        case nil:
            journal.kind == .rollback || !provesPages
                || journal.rowCountWith ?? 0 < journal.rowCountWithout ?? 0
        case .damaged: true
        case .otherKey, .otherTime, .contradicts: false
        }
    }

    /// How many damaged pages and how many gaps of a table a document lists: a file of gigabytes may have a
    /// million of them.
    static let mostListed = 1000

    /// The rows of all tables.
    public var rowCount: Int { tables.reduce(0) { $0 + $1.rowCount } }
}

// MARK: - Encodable

extension SalvageReport: Encodable {
    /// Encodes what was recovered, and what is lost.
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "output": outputPath,
            "complete": isComplete,
            "schemaWhole": isSchemaWhole,
            "salt": salt,
            "saltSource": saltSource,
            "proven": provesPages,
            "pageSize": pageSize,
            "pages": pageCount,
            "wrongPageCount": wrongPageCount,
            "missingPages": missingPageCount,
            "damagedPageCount": damagedPages.reduce(0) { $0 + $1.numbers.count },
            "damagedPages": Array(damagedPages.prefix(Self.mostListed)),
            "journal": journal,
            "namedTables": namedTables,
            "unnamedReason": unnamedReason,
            "rows": rowCount,
            "tables": tables,
            "lostAndFound": lostAndFound,
            "unmade": unmade,
            "seconds": seconds,
        ])
    }
}

extension SalvageReport.Table: Encodable {
    /// Encodes what is in the table, and what isn't.
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "name": name,
            "rows": rowCount,
            "lostRows": lostRowCount,
            "refusedRows": refusedRowCount,
            "mostLostRows": mostLostRows,
            "gapCount": gaps.count,
            "gaps": Array(gaps.prefix(SalvageReport.mostListed)),
        ])
    }
}

extension SalvageReport.DamagedPage: Encodable {
    /// Encodes the page, with the name of the table or index that it belongs to.
    public func encode(to encoder: any Encoder) throws {
        let (use, name): (String, String?) =
            switch use {
            case .table(let name): ("table", name)
            case .index(let name): ("index", name)
            case .schema: ("schema", nil)
            case .free: ("free", nil)
            case .pointerMap: ("pointerMap", nil)
            case .unknown: ("unknown", nil)
            }
        try encoder.encode([
            "page": number,
            "lastPage": numbers.count > 1 ? numbers.upperBound : nil,
            "problem": problem,
            "use": use,
            "name": name,
        ])
    }
}
