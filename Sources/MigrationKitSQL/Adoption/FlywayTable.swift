import GRDB

extension ToolTable {
    static let flyway = ToolTable(
        name: "flyway_schema_history",
        columns: ["installed_rank", "version", "type", "script", "checksum", "success"],
        read: { table, db in
            let query = "SELECT version, type, checksum, success, script FROM \(table)"
            var result = VersionTable()
            for row in try Row.fetchAll(db, sql: query + " ORDER BY installed_rank") {
                result.take(
                    version: row[0],
                    type: (row[1] as DatabaseValue).text,
                    checksum: row[2],
                    succeeded: row[3] != 0,
                    script: (row[4] as DatabaseValue).text
                )
            }
            return result
        },
        matches: { checksum, contents in
            guard case .int64(let number) = checksum.storage else { return true }
            return number == Int64(Int32(bitPattern: crc32(contents)))
        }
    )

    /// Flyway records the CRC-32 of the lines without their line ends, and without a byte order
    /// mark.
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

extension VersionTable {
    /// Follows Flyway's history, in which later rows may undo earlier ones.
    /// <https://documentation.red-gate.com/fd/flyway-schema-history-table-273973417.html>
    fileprivate mutating func take(
        version: DatabaseValue,
        type: String,
        checksum: DatabaseValue,
        succeeded: Bool,
        script: String
    ) {
        let name = version.isNull ? script : version.text
        switch type {
        case "SCHEMA":
            return
        case _ where !succeeded:
            unfinished.append(name)
        case _ where version.isNull:
            if type == "DELETE" { repeatable.remove(script) } else { repeatable.insert(script) }
        case "DELETE":
            remove(name)
        case _ where type.hasPrefix("UNDO"):
            remove(name)
        case _ where type.hasSuffix("BASELINE"):
            through.append(name)
        default:
            remove(name)
            add(name, checksum: type == "SQL" && !checksum.isNull ? checksum : nil)
        }
    }
}
