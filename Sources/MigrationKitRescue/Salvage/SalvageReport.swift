/// What a ``DatabaseSalvage`` has brought back, and what not.
public struct SalvageReport: Equatable, Sendable {
    /// What was with the salt, the first 16 bytes of an encrypted file.
    public enum Salt: String, Sendable {
        /// Nothing, or it isn't needed.
        case intact
        /// One of its bits was wrong, and was found.
        case repaired
        /// It is lost. The raw key decrypts the pages, but nothing proves that they are as they
        /// were written.
        case lost
    }

    /// A page that is not as it was written, or not there.
    public struct DamagedPage: Equatable, Sendable {
        /// What is wrong with a page.
        public enum Problem: String, Sendable {
            /// It can't be read.
            case damaged
            /// The file ends before it.
            case missing
            /// Its newest version, in the write-ahead log or rollback journal, is damaged, and an
            /// older one was read.
            case older
        }

        /// What a page is for.
        public enum Use: Equatable, Sendable {
            /// Rows of a table.
            case table(String)
            /// An index, or a part of a full-text index, which was rebuilt.
            case index(String)
            /// The schema; page 1 has the database's header as well.
            case schema
            /// Nothing: it is free.
            case free
            /// A page that says what other pages are for, which is also known from elsewhere.
            case pointerMap
            /// That isn't known.
            case unknown
        }

        /// The number, from 1.
        public let number: Int
        /// What is wrong with it.
        public let problem: Problem
        /// What it was for.
        public let use: Use
    }

    /// A place in a table at which rows are missing, or may be.
    public struct Gap: Equatable, Sendable {
        /// The page that had them, or had those that have them; `nil` where it isn't known which.
        public let page: Int?
        /// They have rowids after this one; `nil` for all from the first one on, or in a table
        /// without rowids.
        public let after: Int64?
        /// And up to this one; `nil` for all to the last one.
        public let through: Int64?
        /// No more rows than these were lost; `nil` where that isn't known.
        public let mostRows: Int?
    }

    /// A table of the new file.
    public struct Table: Equatable, Sendable {
        /// Its name.
        public let name: String
        /// The rows that were brought back.
        public internal(set) var rowCount = 0
        /// The rows that are known to be lost, since a part of them is.
        public internal(set) var lostRowCount = 0
        /// The rows that the table didn't take, such as a second one with the same key, and that
        /// are in ``SalvageReport/lostAndFound`` therefore.
        public internal(set) var refusedRowCount = 0
        /// Where further rows may be lost.
        public internal(set) var gaps: [Gap] = []

        /// The most rows that are lost in all; `nil` where that isn't known.
        public var mostLostRows: Int? {
            gaps.reduce(lostRowCount) { sum, gap in
                guard let sum, let most = gap.mostRows else { return nil }
                return sum + most
            }
        }
    }

    /// A table for the rows of which it isn't known where they belong.
    public struct LostAndFound: Equatable, Sendable {
        /// `lost_and_found`, or that with a number if the database has such a table.
        public let table: String
        /// The rows in it.
        public let rowCount: Int
        /// The rows that are known to be lost among them.
        public let lostRowCount: Int
    }

    /// What could not be made in the new file.
    public struct Unmade: Equatable, Sendable {
        /// `table`, `index`, `view` or `trigger`.
        public let type: String
        /// Its name.
        public let name: String
        /// What SQLite says.
        public let reason: String
    }

    /// What is in the journal beside the file.
    public struct Journal: Equatable, Sendable {
        /// What a journal is for.
        public enum Kind: String, Sendable {
            /// Of pages that go before those of the file.
            case writeAheadLog
            /// Of a change that was never finished, and that was undone in the new file.
            case rollback
        }

        /// What it is.
        public let kind: Kind
        /// How many frames, or page images, count.
        public let frameCount: Int
        /// The damaged ones of them, from 1; 0 is the header.
        public let damagedFrames: [Int]
    }

    /// The damaged file, with its links resolved.
    public let path: String
    /// The new file.
    public let outputPath: String
    /// What was with the salt.
    public let salt: Salt
    /// Whether the pages prove themselves by an HMAC. Where they don't, damage that makes sense
    /// isn't noticed.
    public let provesPages: Bool
    /// Bytes a page.
    public let pageSize: Int
    /// The pages that the database has, or had.
    public let pageCount: Int
    /// The pages that are not as they were written, in order.
    public let damagedPages: [DamagedPage]
    /// The pages at the end that the file hasn't; they are among ``damagedPages``.
    public let missingPageCount: Int
    /// The journal beside the file; `nil` where there is none that counts.
    public let journal: Journal?
    /// Whether the whole schema was read. Where it wasn't, there may have been further tables.
    public let isSchemaWhole: Bool
    /// Every table of the new file, ordered by name, SQLite's own among them; without those of
    /// full-text indexes that were rebuilt.
    public let tables: [Table]
    /// The rows of which it isn't known where they belong; `nil` where there are none.
    public let lostAndFound: LostAndFound?
    /// What could not be made.
    public let unmade: [Unmade]
    /// How long it took, in seconds.
    public let seconds: Double

    /// Whether everything came back, and is where it was.
    public var isComplete: Bool {
        isSchemaWhole && unmade.isEmpty && lostAndFound == nil
            // A frame that nothing proves may be of another page than it says.
            && (provesPages || journal?.damagedFrames.isEmpty != false)
            && tables.allSatisfy {
                $0.lostRowCount == 0 && $0.refusedRowCount == 0 && $0.gaps.isEmpty
            }
    }

    /// The rows of all tables.
    public var rowCount: Int { tables.reduce(0) { $0 + $1.rowCount } }
}
