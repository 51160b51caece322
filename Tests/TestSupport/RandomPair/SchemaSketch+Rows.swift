import MigrationKitGRDB

/// The rows of a random schema, and values for its new columns.
extension SchemaSketch {
    mutating func inserts() -> [String] {
        var result: [String] = []
        // Parents have a lower place only by chance: their keys are asked for, and set later.
        for round in 0..<2 {
            for table in tables {
                let columns = table.columns.filter { $0.generated == nil }
                let names = columns.map(\.name.quotedName).joined(separator: ", ")
                for row in 0..<Int.random(in: 0...5, using: &random) {
                    let values = columns.map { value(of: $0, row: row + round * 10 + 1) }
                    result.append(
                        "INSERT OR IGNORE INTO \(table.name.quotedName) (\(names)) "
                            + "VALUES (\(values.joined(separator: ", ")))"
                    )
                }
            }
        }
        for table in tables where table.key == .autoincrement && chance(3) {
            result.append(
                "UPDATE sqlite_sequence SET seq = 90 WHERE name = \(table.name.sqlString)"
            )
        }
        result += searches.map { search in
            guard !search.isExternal else {
                return "INSERT INTO \(search.name)(\(search.name)) VALUES ('rebuild')"
            }
            let values = search.columns.map { _ in "'word'" }.joined(separator: ", ")
            return "INSERT INTO \(search.name) VALUES (\(values))"
        }
        return result
    }

    private mutating func value(of column: Column, row: Int) -> String {
        if let parent = column.parent.flatMap({ table($0.table) }) {
            let offset = Int.random(in: 0..<4, using: &random)
            return chance(3)
                ? "NULL"
                : "(SELECT \(parent.columns[0].name.quotedName) FROM \(parent.name.quotedName) "
                    + "LIMIT 1 OFFSET \(offset))"
        }
        if let owner = tables.first(where: { $0.column(column.number) != nil }),
            owner.columns.prefix(owner.keyCount).contains(where: { $0.number == column.number })
        {
            return column.type == "TEXT" ? "'k\(row)'" : "\(row * 3)"
        }
        if !column.isRequired, chance(4) { return "NULL" }
        let number = Int.random(in: 0..<90, using: &random)
        switch column.type {
        case "TEXT", "VARCHAR(20)":
            return pick([
                "''", "'Abc'", "'abc  '", "'007'", "'it''s'", "'näö'", "'3.0'", "'\(number)'",
            ])
        case "INTEGER", "INT", "BOOLEAN":
            return pick(["0", "\(number)", "-5", "9007199254740993"])
        case "REAL": return pick(["1.5", "3.0", "0.1", "1e300", "\(number)"])
        case "BLOB": return pick(["x'00ff61'", "x''", "x'\(10 + number)'"])
        case "NUMERIC", "DECIMAL(10, 2)": return pick(["1.5", "\(number)", "3.0", "'abc'"])
        default: return pick(["1.5", "\(number)", "'text'", "'007'", "x'00ff'"])
        }
    }

    /// Expressions for required columns that are new and have no default, and for a few others.
    mutating func backfills(since old: SchemaSketch) -> [String: String] {
        var result: [String: String] = [:]
        for table in tables {
            guard let before = old.table(table.number) else { continue }
            for column in table.columns
            where before.column(column.number) == nil && column.generated == nil {
                let source = pick(before.columns).name.quotedName
                let rowID = before.isWithoutRowID ? "1" : "rowid"
                // A STRICT table requires values in its key.
                let isRequired =
                    column.isRequired
                    || table.isStrict
                        && table.columns.prefix(table.keyCount).contains {
                            $0.number == column.number
                        }
                guard isRequired && column.defaultValue == nil || chance(8) else { continue }
                let parent = column.parent.flatMap { old.table($0.table) }
                result["\(table.name).\(column.name)"] =
                    switch column.type {
                    case _ where column.parent != nil:
                        parent.map {
                            "(SELECT min(\($0.columns[0].name.quotedName)) FROM \($0.name.quotedName))"
                        } ?? "NULL"
                    case "TEXT", "VARCHAR(20)":
                        pick(["'b' || \(rowID)", "ifnull(hex(\(source)), '')"])
                    case "BLOB": "CAST('b' || \(rowID) AS BLOB)"
                    default: pick([rowID, "length(hex(\(source)))"])
                    }
            }
        }
        return result
    }
}
