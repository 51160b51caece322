import MigrationKitRescue
import MigrationKitSQLCipher

/// What `inspect` prints for programs.
struct InspectionDocument: Encodable {
    struct Journal: Encodable {
        let suffix: String
        let size: Int
        let frames: Int?
        let committedFrames: Int?
    }

    struct Leftover: Encodable {
        let path: String
        let size: Int
        let plaintext: Bool
    }

    struct Cipher: Encodable {
        let pageSize: Int
        let kdfIterations: Int
        let kdfAlgorithm: String
        let hmacAlgorithm: String
    }

    struct Table: Encodable {
        let name: String
        let rows: Int?
    }

    struct Ledger: Encodable {
        let applied: Int
        let latest: String?
    }

    struct Damage: Encodable {
        let pages: [Int]
        let missingPages: Int
        let salt: Bool
        let logFrame: Int?
        let detail: String?
    }

    let schemaVersion = JSON.schemaVersion
    let database: String
    let linkTarget: String?
    let kind: String
    let size: Int
    let mode: String
    let owner: String?
    let ownerID: UInt32
    let pageSize: Int?
    let possiblePageSizes: [Int]?
    let salt: String?
    let journals: [Journal]
    /// Omitted if there is none.
    let unfinishedChange: Bool?
    let leftovers: [Leftover]?
    let key: String
    let cipherCompatibility: Int?
    let cipher: Cipher?
    let cipherVersion: String?
    let pageCount: Int?
    let freePages: Int?
    let userVersion: Int?
    let applicationID: Int?
    let journalMode: String?
    let autoVacuum: String?
    let encoding: String?
    let tables: [Table]?
    let ledger: Ledger?
    let damage: Damage?

    init(_ report: FileReport) {
        database = report.path
        linkTarget = report.linkTarget
        kind = report.kind.rawValue
        size = report.size
        mode = report.modeText
        owner = report.owner
        ownerID = report.ownerID
        pageSize = report.pageSize
        possiblePageSizes = report.possiblePageSizes.isEmpty ? nil : report.possiblePageSizes
        salt = report.saltText
        journals = report.journals.map {
            Journal(
                suffix: $0.suffix,
                size: $0.size,
                frames: $0.log?.frameCount,
                committedFrames: $0.log?.committedFrameCount
            )
        }
        unfinishedChange = report.hasUnfinishedChange ? true : nil
        let found = report.leftovers.map {
            Leftover(path: $0.path, size: $0.size, plaintext: $0.isPlaintext)
        }
        leftovers = found.isEmpty ? nil : found
        let cipher = report.cipher
        key =
            switch report.key {
            case .notGiven: "notGiven"
            case .unneeded: "unneeded"
            case .opens: "opens"
            case .wrong: "wrong"
            }
        cipherCompatibility = cipher?.compatibility
        self.cipher = cipher.map {
            Cipher(
                pageSize: $0.pageSize,
                kdfIterations: $0.kdfIterations,
                kdfAlgorithm: $0.kdfAlgorithm.rawValue,
                hmacAlgorithm: $0.hmacAlgorithm.rawValue
            )
        }
        cipherVersion = cipher == nil ? nil : EncryptedDatabase.cipherVersion
        let content = report.content
        pageCount = content?.pageCount
        freePages = content?.freePageCount
        userVersion = content?.userVersion
        applicationID = content?.applicationID
        journalMode = content?.journalMode.rawValue
        autoVacuum = content?.autoVacuum.rawValue
        encoding = content?.encoding
        tables = content?.tables?.map { Table(name: $0.name, rows: $0.rowCount) }
        ledger = content?.ledger.map { Ledger(applied: $0.appliedCount, latest: $0.latest) }
        damage = report.damage.map {
            Damage(
                pages: $0.pages,
                missingPages: $0.missingPageCount,
                salt: $0.isSaltDamaged,
                logFrame: $0.logFrame,
                detail: $0.detail
            )
        }
    }
}

extension FileReport {
    /// The settings with which the key opens the file.
    var cipher: CipherSettings? {
        if case .opens(let cipher) = key { cipher } else { nil }
    }

    /// The permissions, in octal digits.
    var modeText: String { mode.octalMode }
}
