import GRDB

/// The checksums that other tools keep of the files that they have run.
enum RecordedChecksum {
    /// Whether a file is the one that a tool has run.
    ///
    /// - Parameters:
    ///   - recorded: What the tool's table has.
    ///   - contents: The bytes of the file.
    /// - Returns: `true` for a tool whose checksum can't be compared.
    static func matches(_ recorded: DatabaseValue, _ contents: [UInt8], by tool: MigrationTool)
        -> Bool
    {
        switch (tool, recorded.storage) {
        // sqlx keeps the SHA-384 of the bytes.
        // <https://github.com/launchbadge/sqlx/blob/main/sqlx-core/src/migrate/migration.rs>
        case (.sqlx, .blob(let data)):
            Digest.sha384(contents).map { $0.elementsEqual(data) } ?? true
        case (.sqlx, _): false
        case (.flyway, .int64(let number)): number == Int64(Int32(bitPattern: crc32(contents)))
        default: true
        }
    }

    /// Flyway keeps the CRC-32 of the lines without what ends them, and without a byte order mark.
    /// <https://github.com/flyway/flyway/blob/main/flyway-core/src/main/java/org/flywaydb/core/internal/resolver/ChecksumCalculator.java>
    private static func crc32(_ bytes: [UInt8]) -> UInt32 {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        var sum = UInt32.max
        for byte in bytes.dropFirst(bytes.starts(with: mark) ? mark.count : 0)
        where byte != UInt8(ascii: "\n") && byte != UInt8(ascii: "\r") {
            sum ^= UInt32(byte)
            for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
        }
        return ~sum
    }
}
