import GRDB
import MigrationKitLint

/// The rows of tables that a step has left as they were.
struct KeptRows {
    private let tables: [String: (columns: [String], rows: [[DatabaseValue]: Int])]

    /// - Parameters:
    ///   - before: The tables before the step.
    ///   - after: The tables after it.
    init(from before: TableContents, through after: TableContents) {
        tables = before.tables.reduce(into: [:]) { kept, entry in
            guard let applied = after.tables[entry.key] else { return }
            let columns = entry.value.columns.filter(applied.columns.contains)
            let rows = entry.value.counts(of: columns)
            guard applied.counts(of: columns).includes(rows) else { return }
            kept[entry.key] = (columns, rows)
        }
    }

    /// The tables that don't have exactly those rows; empty if all have.
    func difference(in contents: TableContents) -> String {
        tables.sorted { $0.key < $1.key }.compactMap { name, kept -> String? in
            guard let table = contents.tables[name] else { return nil }
            let rows = table.counts(of: kept.columns)
            guard rows != kept.rows else { return nil }
            let (before, after) = (kept.rows.values.reduce(0, +), rows.values.reduce(0, +))
            return before == after
                ? "  table \(table.name): its rows have other values"
                : TableContents.difference(of: table.name, before, after)
        }.joined(separator: "\n")
    }
}

extension TableContents {
    /// The tables that have lost rows or values, although the step doesn't say so; empty if none has.
    ///
    /// - Parameters:
    ///   - before: The tables before the step.
    ///   - stated: What the step says.
    func losses(from before: TableContents, _ stated: StatedChanges) -> String {
        before.tables.sorted { $0.key < $1.key }.compactMap { name, old -> String? in
            guard let place = stated.place(of: name), !place.deletes,
                let new = tables[place.table]
            else { return nil }
            let columns = old.columns.compactMap { column in
                place.column(column, among: new.columns).map { (before: column, after: $0) }
            }.filter {
                // What is computed follows from the other values.
                !old.generated.contains($0.before) || !new.generated.contains($0.after)
            }
            func isKept(_ columns: [(before: String, after: String)]) -> Bool {
                let texts = columns.indices.filter { new.texts.contains(columns[$0].after) }
                return new.counts(of: columns.map(\.after))
                    .includes(old.counts(of: columns.map(\.before), asTexts: Set(texts)))
            }
            guard new.rows.count >= old.rows.count else {
                return Self.difference(of: old.name, old.rows.count, new.rows.count)
            }
            guard !isKept(columns) else { return nil }
            let changed = columns.filter { !isKept([$0]) }.map(\.before)
            return "  table \(old.name): other values in "
                + (changed.isEmpty ? "its rows" : changed.joined(separator: ", "))
        }.joined(separator: "\n")
    }

    /// The tables whose numbers of rows differ from those of other contents; empty if none does.
    func differenceOfCounts(from before: TableContents) -> String {
        tables.sorted { $0.key < $1.key }.compactMap { name, table in
            guard let old = before.tables[name], old.rows.count != table.rows.count else {
                return nil
            }
            return Self.difference(of: table.name, old.rows.count, table.rows.count)
        }.joined(separator: "\n")
    }
}

extension TableContents.Table {
    /// How often each row is there, by its values in some columns.
    ///
    /// - Parameter texts: The places of those whose whole numbers a column of texts converts.
    func counts(of columns: [String], asTexts texts: Set<Int> = []) -> [[DatabaseValue]: Int] {
        let places = columns.compactMap(self.columns.firstIndex)
        return rows.reduce(into: [:]) { counts, row in
            let values = places.enumerated().map { place, column in
                guard texts.contains(place), case .int64(let number) = row[column].storage else {
                    return row[column]
                }
                return "\(number)".databaseValue
            }
            counts[values, default: 0] += 1
        }
    }
}

extension [[DatabaseValue]: Int] {
    /// Whether each row of others is there, as often.
    func includes(_ others: Self) -> Bool {
        others.allSatisfy { row, count in self[row, default: 0] >= count }
    }
}
