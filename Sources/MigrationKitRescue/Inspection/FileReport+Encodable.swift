import MigrationKitCommon
import MigrationKitSQLCipher

extension FileReport: Encodable {
    /// Encodes what is known about the file. What there is none of is left out.
    public func encode(to encoder: any Encoder) throws {
        try content?.encode(to: encoder)
        try encoder.encode([
            "database": path,
            "linkTarget": linkTarget,
            "kind": kind,
            "size": size,
            "owner": owner,
            "ownerID": ownerID,
            "pageSize": pageSize,
            "possiblePageSizes": possiblePageSizes.nonEmpty,
            "salt": saltText,
            "plaintextHeader": hasPlaintextHeader ? true : nil,
            "multipleCiphers": multipleCiphers,
            "journals": journals,
            "unfinishedChange": hasUnfinishedChange ? true : nil,
            "leftovers": leftovers.nonEmpty,
            "key": key.name,
            "cipherCompatibility": cipher?.compatibility,
            "cipher": cipher,
            "damage": damage,
        ])
    }
}

extension FileReport {
    /// The settings with which the key opens the file.
    package var cipher: CipherSettings? {
        if case .opens(let cipher) = key { cipher } else { nil }
    }
}

extension FileReport.KeyCheck {
    fileprivate var name: String {
        switch self {
        case .notGiven: "notGiven"
        case .unneeded: "unneeded"
        case .opens: "opens"
        case .wrong: "wrong"
        case .saltNeeded: "saltNeeded"
        }
    }
}

extension DatabaseContent: Encodable {
    /// Encodes what is in the database. The page size is the file's.
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "pageCount": pageCount,
            "freePages": freePageCount,
            "userVersion": userVersion,
            "applicationID": applicationID,
            "journalMode": journalMode,
            "autoVacuum": autoVacuum,
            "encoding": encoding,
            "tables": tables,
            "ledger": ledger,
        ])
    }
}

extension DatabaseContent.Table: Encodable {
    /// Encodes the name and the number of rows.
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "name": name,
            "rows": rowCount,
        ])
    }
}

extension DatabaseContent.Ledger: Encodable {
    /// Encodes how many migrations were applied, and the latest.
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "applied": appliedCount,
            "latest": latest,
        ])
    }
}

extension FileDamage: Encodable {
    /// Encodes the damage.
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "pages": pages,
            "zeroPages": zeroPages,
            "missingPages": missingPageCount,
            "salt": isSaltDamaged,
            "logFrame": logFrame,
            "detail": detail,
        ])
    }
}

extension JournalFile: Encodable {
    /// Encodes the file, and how much of a write-ahead log counts.
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "suffix": suffix,
            "size": size,
            "frames": log?.frameCount,
            "committedFrames": log?.committedFrameCount,
            "mismatch": mismatch,
        ])
    }
}

extension LeftoverFile: Encodable {
    /// Encodes the file.
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "path": path,
            "size": size,
            "plaintext": isPlaintext,
        ])
    }
}

extension Array {
    fileprivate var nonEmpty: Self? { isEmpty ? nil : self }
}
