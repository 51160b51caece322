import Foundation
import MigrationKitSchema

/// A random schema with rows, and what several random changes make of it.
///
/// Tables and columns keep their numbers when they are renamed, so that it is known what must become
/// of each row, without knowing how a migration is planned.
///
/// `TESTS_PAIR` asks for the one with this number, and `TESTS_FIRST_PAIR` for those from
/// this number on.
package struct RandomPair: Encodable {
    package let number: Int
    package let from: SchemaSketch
    package let to: SchemaSketch
    package let fromStatements: [String]
    package let toStatements: [String]
    /// The rows of the present schema.
    package let inserts: [String]
    private let renames: [[String]]
    /// Expressions over the old row, by names of the wanted schema.
    package let backfills: [String: String]
    /// The changes, for a report.
    private let changes: [String]

    /// - Parameter number: The same one gives the same pair, unless `TESTS_SEED` differs.
    package init(number: Int) {
        self.number = number
        var sketch = SchemaSketch(seed: SeededGenerator.seed &+ UInt64(number) &* 0x1_0000_0001)
        sketch.make()
        from = sketch
        fromStatements = sketch.statements()
        inserts = sketch.inserts()
        for _ in 0..<Int.random(in: 1...5, using: &sketch.random) { sketch.change() }
        to = sketch
        toStatements = sketch.statements()
        changes = sketch.changes
        backfills = sketch.backfills(since: from)
        renames = Self.renames(from, to)
    }

    /// The numbers of the pairs to try.
    ///
    /// - Parameter count: How many, if the environment doesn't ask for others.
    package static func numbers(_ count: Int) -> Range<Int> {
        func number(_ name: String) -> Int? {
            ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
        }
        if let one = number("TESTS_PAIR") { return one..<one + 1 }
        let first = number("TESTS_FIRST_PAIR") ?? 0
        return first..<first + Samples.count(count)
    }

    /// Rows of the wanted schema.
    package var newerInserts: [String] {
        var sketch = to
        return sketch.inserts()
    }

    package var schemaRenames: [SchemaRename] {
        renames.map {
            $0.count == 2
                ? SchemaRename(table: $0[0], newName: $0[1])
                : SchemaRename(table: $0[0], column: $0[1], newName: $0[2])
        }
    }

    /// The tables that are in both.
    package var pairs: [(old: SchemaSketch.Table, new: SchemaSketch.Table)] {
        from.tables.compactMap { old in to.table(old.number).map { (old, $0) } }
    }

    private static func renames(_ from: SchemaSketch, _ to: SchemaSketch) -> [[String]] {
        from.tables.flatMap { old -> [[String]] in
            guard let new = to.table(old.number) else { return [] }
            return (old.name == new.name ? [] : [[old.name, new.name]])
                + old.columns.compactMap { column in
                    guard let other = new.column(column.number), other.name != column.name else {
                        return nil
                    }
                    return [old.name, column.name, other.name]
                }
        }
    }

    private enum CodingKeys: String, CodingKey {
        case fromStatements = "from"
        case toStatements = "to"
        case inserts, renames, backfills, changes
    }
}

extension RandomPair: CustomStringConvertible {
    /// Everything that is needed to try it again.
    package var description: String {
        """
        TESTS_PAIR=\(number) TESTS_SEED=\(SeededGenerator.seed): \(changes), \
        renames \(renames), backfills \(backfills)
        \((fromStatements + inserts).joined(separator: ";\n"));
        -- to
        \(toStatements.joined(separator: ";\n"));
        """
    }
}
