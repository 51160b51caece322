import GRDB
import MigrationKitCommon
import MigrationKitGRDB

/// Compares the indexes of a table with the table, in time linear in their sizes.
///
/// `integrity_check` looks up every row in every index. In an index on random values, that reads
/// pages all over the file. Here, both are read once from beginning to end: the table, with the
/// values that its indexes should have, and each index by itself. The digests of both must be equal,
/// and each entry of an index must be found by its values, which is quick, since the one before it
/// is next to it. So each row is found. A UNIQUE index must have different keys. The table's order
/// matters only if it is WITHOUT ROWID; otherwise `quick_check` compares the rowids.
///
/// Together with `quick_check`, which checks the b-trees and the rows, this finds what
/// `integrity_check` finds, but not which row it is.
struct IndexComparison {
    /// What is wrong with an index.
    struct Difference: Equatable {
        /// The name of the index; `nil` if it is about the table.
        let index: String?
        let text: String
    }

    /// The result for one table.
    struct Outcome {
        let table: String
        var differences: [Difference] = []

        /// Whether SQLite's own check must decide: for indexes that can't be read without their
        /// table, and if a page can't be read.
        var isUndecided = false

        var isSuspect: Bool { isUndecided || !differences.isEmpty }
    }

    /// One sequential pass.
    enum Pass: Sendable {
        case table
        case index(Int)
    }

    let table: IndexedTable

    private var expected: [EntryDigest]?
    private var found: [Int: EntryDigest] = [:]
    private var outcome: Outcome

    init(_ table: IndexedTable) {
        self.table = table
        outcome = Outcome(table: table.name)
        outcome.isUndecided = table.isUnusual
    }

    /// What a pass found.
    struct Finding: Sendable {
        var digests: [EntryDigest] = []
        var isOrdered = true
        var hasDuplicates = false
        var isUndecided = false
    }

    /// Runs a pass. It doesn't change this value, so passes can run at the same time.
    ///
    /// - Throws: A `DatabaseError` if nothing can be said, for example because of a lock.
    func run(_ pass: Pass, in db: Database) throws -> Finding {
        do {
            switch pass {
            case .table: return try table.scan(in: db)
            case .index(let index): return try table.scan(table.indexes[index], in: db)
            }
        } catch let error as DatabaseError where !error.resultCode.preventsReading {
            return Finding(isUndecided: true)
        }
    }

    /// Takes the result of a pass.
    mutating func add(_ finding: Finding, of pass: Pass) {
        if finding.isUndecided { outcome.isUndecided = true }
        guard !finding.digests.isEmpty else { return }
        switch pass {
        case .table:
            expected = finding.digests
            if !finding.isOrdered {
                add(nil, "rows of '\(table.name)' are not in primary key order")
            }
        case .index(let index):
            let name = table.indexes[index].name
            found[index] = finding.digests.first
            if !finding.isOrdered { add(name, "entries of the index '\(name)' are out of order") }
            if finding.hasDuplicates {
                add(name, "entries of the UNIQUE index '\(name)' are equal")
            }
        }
    }

    /// The result, when all passes are done.
    var result: Outcome {
        var result = self
        for (index, digest) in found.sorted(by: { $0.key < $1.key }) {
            guard let expected = expected?[index], expected != digest else { continue }
            let name = table.indexes[index].name
            result.add(
                name,
                expected.count == digest.count
                    ? "entries of the index '\(name)' don't match their rows"
                    : "the index '\(name)' has \(digest.count) entries for \(expected.count) rows"
            )
        }
        return result.outcome
    }

    private mutating func add(_ index: String?, _ text: String) {
        outcome.differences.append(Difference(index: index, text: text))
    }
}

/// The comparisons of several tables. Several connections may share the work.
final class IndexComparisons: Sendable {
    private struct State {
        var comparisons: [IndexComparison]
        var waiting: [(table: Int, pass: IndexComparison.Pass)]
        var undecided: [IndexComparison.Outcome]
    }

    private let state: Locked<State>

    /// - Parameter tables: The names of tables of the main database.
    init(_ tables: [String], _ db: Database) throws {
        var comparisons: [IndexComparison] = []
        var undecided: [IndexComparison.Outcome] = []
        for name in tables {
            do {
                try IndexedTable(name, db).map { comparisons.append(IndexComparison($0)) }
            } catch let error as DatabaseError where !error.resultCode.preventsReading {
                undecided.append(IndexComparison.Outcome(table: name, isUndecided: true))
            }
        }
        // The tables take longer than their indexes, so they come first.
        let usual = comparisons.indices.filter { !comparisons[$0].table.isUnusual }
        let tables = usual.map { ($0, IndexComparison.Pass.table) }
        let indexes = usual.flatMap { table in
            comparisons[table].table.indexes.indices.map { (table, IndexComparison.Pass.index($0)) }
        }
        state = Locked(
            State(comparisons: comparisons, waiting: tables + indexes, undecided: undecided)
        )
    }

    /// Runs the passes that nobody has begun.
    ///
    /// - Throws: A `DatabaseError` if the database can't be read. The pass can be run again.
    func work(in db: Database) throws {
        while let (table, pass, comparison) = next() {
            do {
                let finding = try comparison.run(pass, in: db)
                state.withLock { $0.comparisons[table].add(finding, of: pass) }
            } catch {
                state.withLock { $0.waiting.append((table, pass)) }
                throw error
            }
        }
    }

    private func next() -> (Int, IndexComparison.Pass, IndexComparison)? {
        state.withLock { state in
            guard !state.waiting.isEmpty else { return nil }
            let (table, pass) = state.waiting.removeFirst()
            return (table, pass, state.comparisons[table])
        }
    }

    /// The tables that SQLite must check, when all passes are done.
    var suspects: [IndexComparison.Outcome] {
        state.withLock { state in
            state.undecided + state.comparisons.map(\.result).filter(\.isSuspect)
        }
    }
}
