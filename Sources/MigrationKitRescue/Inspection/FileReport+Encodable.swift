import MigrationKitSQLCipher

extension FileReport: Encodable {
    private enum CodingKeys: CodingKey {
        case database, linkTarget, kind, size, owner, ownerID, pageSize, possiblePageSizes
        case salt, plaintextHeader, journals, unfinishedChange, leftovers, key
        case cipherCompatibility, cipher, damage
    }

    /// Encodes what is known about the file. What there is none of is left out.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(path, forKey: .database)
        try container.encodeIfPresent(linkTarget, forKey: .linkTarget)
        try container.encode(kind, forKey: .kind)
        try container.encode(size, forKey: .size)
        try container.encodeIfPresent(owner, forKey: .owner)
        try container.encode(ownerID, forKey: .ownerID)
        try container.encodeIfPresent(pageSize, forKey: .pageSize)
        try container.encodeIfPresent(possiblePageSizes.nonEmpty, forKey: .possiblePageSizes)
        try container.encodeIfPresent(saltText, forKey: .salt)
        if hasPlaintextHeader { try container.encode(true, forKey: .plaintextHeader) }
        try container.encode(journals, forKey: .journals)
        if hasUnfinishedChange { try container.encode(true, forKey: .unfinishedChange) }
        try container.encodeIfPresent(leftovers.nonEmpty, forKey: .leftovers)
        try container.encode(key.name, forKey: .key)
        if case .opens(let cipher) = key {
            try container.encode(cipher.compatibility, forKey: .cipherCompatibility)
            try container.encode(cipher, forKey: .cipher)
        }
        try content?.encode(to: encoder)
        try container.encodeIfPresent(damage, forKey: .damage)
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
    private enum CodingKeys: CodingKey {
        case pageCount, freePages, userVersion, applicationID, journalMode, autoVacuum, encoding
        case tables, ledger
    }

    /// Encodes what is in the database. The page size is the file's.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(pageCount, forKey: .pageCount)
        try container.encode(freePageCount, forKey: .freePages)
        try container.encode(userVersion, forKey: .userVersion)
        try container.encode(applicationID, forKey: .applicationID)
        try container.encode(journalMode, forKey: .journalMode)
        try container.encode(autoVacuum, forKey: .autoVacuum)
        try container.encode(encoding, forKey: .encoding)
        try container.encodeIfPresent(tables, forKey: .tables)
        try container.encodeIfPresent(ledger, forKey: .ledger)
    }
}

extension DatabaseContent.Table: Encodable {
    private enum CodingKeys: CodingKey {
        case name, rows
    }

    /// Encodes the name and the number of rows.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encodeIfPresent(rowCount, forKey: .rows)
    }
}

extension DatabaseContent.Ledger: Encodable {
    private enum CodingKeys: CodingKey {
        case applied, latest
    }

    /// Encodes how many migrations were applied, and the latest.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(appliedCount, forKey: .applied)
        try container.encodeIfPresent(latest, forKey: .latest)
    }
}

extension FileDamage: Encodable {
    private enum CodingKeys: CodingKey {
        case pages, missingPages, salt, logFrame, detail
    }

    /// Encodes the damage.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(pages, forKey: .pages)
        try container.encode(missingPageCount, forKey: .missingPages)
        try container.encode(isSaltDamaged, forKey: .salt)
        try container.encodeIfPresent(logFrame, forKey: .logFrame)
        try container.encodeIfPresent(detail, forKey: .detail)
    }
}

extension JournalFile: Encodable {
    private enum CodingKeys: CodingKey {
        case suffix, size, frames, committedFrames
    }

    /// Encodes the file, and how much of a write-ahead log counts.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(suffix, forKey: .suffix)
        try container.encode(size, forKey: .size)
        try container.encodeIfPresent(log?.frameCount, forKey: .frames)
        try container.encodeIfPresent(log?.committedFrameCount, forKey: .committedFrames)
    }
}

extension LeftoverFile: Encodable {
    private enum CodingKeys: CodingKey {
        case path, size, plaintext
    }

    /// Encodes the file.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(path, forKey: .path)
        try container.encode(size, forKey: .size)
        try container.encode(isPlaintext, forKey: .plaintext)
    }
}

extension Array {
    fileprivate var nonEmpty: Self? { isEmpty ? nil : self }
}
