import GRDB
import MigrationKitGRDB
import MigrationKitSQLCipher

/// The schema that migrations give, for a database whose own is lost.
struct ExpectedSchema {
    /// A table or an index with pages of its own.
    struct Tree {
        let object: SalvagedObject
        /// `nil` for an index.
        let table: StoredTable?
        var isTable: Bool { table?.hasRowID == true }
    }

    /// In the order in which they were made.
    let trees: [Tree]
    /// Views, triggers and virtual tables.
    let others: [SalvagedObject]
    /// The tables in which virtual tables keep what they have, by the name of the virtual table.
    let shadows: [String: Set<String>]

    /// Applies migrations to an empty database in memory.
    ///
    /// - Parameter last: The last migration that the lost database had; `nil` for all.
    init(
        _ runner: GRDBMigrationRunner,
        upTo last: String?,
        isAutoVacuum: Bool,
        configuration: Configuration
    ) throws {
        let queue = try DatabaseQueue(configuration: configuration)
        if isAutoVacuum { try queue.vacuumAutomatically() }
        if let last {
            try runner.migrate(in: queue, upTo: last)
        } else {
            try runner.migrate(in: queue)
        }
        (trees, others, shadows) = try queue.read { db in
            let objects = try Row.fetchAll(
                db,
                sql: "SELECT type, name, tbl_name, rootpage, sql FROM main.sqlite_schema"
            ).compactMap { row in
                SalvagedObject.Kind(rawValue: row[0]).map {
                    SalvagedObject(
                        kind: $0,
                        name: row[1],
                        table: row[2],
                        root: row[3] ?? 0,
                        sql: row[4]
                    )
                }
            }
            let trees = try objects.filter { $0.root > 0 }.sorted { $0.root < $1.root }.map {
                Tree(
                    object: $0,
                    table: try $0.kind == .table ? StoredTable($0.name, in: db) : nil
                )
            }
            let all = Set(
                try String.fetchAll(
                    db,
                    sql: """
                        SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow'
                        """
                )
            )
            let virtual = objects.filter { $0.module != nil }.map { object in
                (object.name, all.filter { $0.hasPrefix(object.name + "_") })
            }
            return (
                trees, objects.filter { $0.root == 0 },
                Dictionary(virtual, uniquingKeysWith: { first, _ in first })
            )
        }
        try queue.close()
    }
}

extension DatabaseQueue {
    /// The roots of trees then come before all other pages.
    fileprivate func vacuumAutomatically() throws {
        try inDatabase { try $0.execute(sql: "PRAGMA auto_vacuum = FULL; VACUUM") }
    }
}

// MARK: - Naming

extension SalvageContent {
    /// Names tables whose entries in the schema are lost, as far as migrations tell.
    ///
    /// Their pages are those that nothing leads to. If there are as many as the schema has tables and
    /// indexes, and each fits its place, they are in the order in which they were made. Otherwise, a table
    /// is named if its rows fit no other table, and no other rows fit it; tables of one form if there are
    /// as many as there are pages. What is uncertain stays without a name.
    ///
    /// - Returns: The names of the tables.
    func nameTables(by runner: GRDBMigrationRunner, _ configuration: Configuration) throws
        -> [String]
    {
        let roots = LostRoots(self)
        guard !roots.all.isEmpty else { return [] }
        let applied = roots.identifiers(of: runner)
        let expected = try ExpectedSchema(
            runner,
            upTo: applied.last,
            isAutoVacuum: isAutoVacuum,
            configuration: configuration
        )
        let known = Set(objects.map { "\($0.kind) \($0.name)" })
        let missing = expected.trees.filter {
            !known.contains("\($0.object.kind) \($0.object.name)")
        }
        let pages = roots.assigned(to: missing)
        let found = missing.indices.compactMap { index in
            pages[index].map { missing[index].object.with(root: $0) }
        }
        let tables = Set((objects + found).filter { $0.kind == .table }.map(\.name))
        func isUsable(_ object: SalvagedObject) -> Bool {
            switch object.kind {
            case .view: true
            case .trigger: tables.contains(object.table)
            // An index is made anew, so its pages don't matter.
            case .index: tables.contains(object.table) && object.sql != nil
            case .table:
                // An index of another table's text needs nothing else.
                object.isIndexOfOtherTable
                    || expected.shadows[object.name]?.isSubset(of: tables) == true
            }
        }
        let indexes = missing.indices.filter { pages[$0] == nil }.map { missing[$0].object }
            .filter { $0.kind == .index }.map { $0.with(root: 0) }
        adopt(
            found
                + (indexes + expected.others).filter {
                    isUsable($0) && !known.contains("\($0.kind) \($0.name)")
                }
        )
        return found.filter { $0.kind == .table }.map(\.name).sorted()
    }
}

/// The pages that nothing leads to, of which some were the roots of tables and indexes.
private struct LostRoots {
    struct Root {
        let page: Int
        let isTable: Bool
        let isLeaf: Bool
        /// The rows of its first leaf.
        let rows: [SalvagedRow]
    }

    private let encoding: TextEncoding
    let all: [Root]

    init(_ content: SalvageContent) {
        encoding = content.encoding
        let pages = content.pages
        all = content.walk.orphans().compactMap { page in
            guard let kind = pages.kind(page) else { return nil }
            // A pointer map knows which pages are roots.
            if let root = content.walk.mappedRoot(of: page), root != page { return nil }
            return Root(
                page: page,
                isTable: kind.isTable,
                isLeaf: kind.isLeaf,
                rows: content.firstRows(below: page)
            )
        }
    }

    /// The migrations that the ledger has, in their order, if its page is among these: a table with
    /// nothing but known identifiers.
    func identifiers(of runner: GRDBMigrationRunner) -> [String] {
        let known = runner.migrationIdentifiers
        for root in all where root.isTable && !root.rows.isEmpty {
            let texts = root.rows.map { row -> String? in
                guard row.values.count == 1, case .text(let range) = row.values[0] else {
                    return nil
                }
                return encoding.string(row.bytes(range))
            }
            let found = Set(texts.compactMap(\.self))
            guard !texts.contains(nil), found.isSubset(of: known) else { continue }
            return known.filter(found.contains)
        }
        return []
    }

    /// - Returns: The page of each tree; `nil` where it isn't certain.
    func assigned(to trees: [ExpectedSchema.Tree]) -> [Int?] {
        if all.count == trees.count, zip(all, trees).allSatisfy({ Self.mayBe($0, $1) }) {
            return all.map(\.page)
        }
        var pages = [Int?](repeating: nil, count: trees.count)
        var ofOneForm: [[Int]] = []
        // Only rows can tell.
        let roots = all.filter { !$0.rows.isEmpty }
        let candidates = roots.map { root in
            trees.indices.filter { trees[$0].table != nil && Self.fits(root, trees[$0]) }
        }
        for (tables, group) in Dictionary(grouping: roots.indices, by: { candidates[$0] })
        where !tables.isEmpty {
            // No other page may belong to one of these tables.
            let isAlone = roots.indices.allSatisfy {
                group.contains($0) || !candidates[$0].contains(where: tables.contains)
            }
            // Beside a page with others below it, single leaves are free pages, with former rows.
            let inner = group.filter { !roots[$0].isLeaf }
            let places = group.count > tables.count && inner.count == tables.count ? inner : group
            guard isAlone, places.count == tables.count else { continue }
            for (table, root) in zip(tables, places.sorted()) { pages[table] = roots[root].page }
            if tables.count > 1 { ofOneForm.append(tables) }
        }
        // Where a page was free when a table was made, tables aren't in their order.
        let order = pages.compactMap(\.self)
        if order != order.sorted() {
            for table in ofOneForm.joined() { pages[table] = nil }
        }
        return pages
    }

    /// Whether nothing on the page speaks against it.
    private static func mayBe(_ root: Root, _ tree: ExpectedSchema.Tree) -> Bool {
        guard root.isTable == tree.isTable else { return false }
        return tree.table.map { table in root.rows.allSatisfy(table.fits) } ?? true
    }

    /// Whether the rows have the columns of the table, and the kinds of values that these usually have.
    private static func fits(_ root: Root, _ tree: ExpectedSchema.Tree) -> Bool {
        guard root.isTable == tree.isTable, let table = tree.table else { return false }
        return root.rows.allSatisfy { table.fits($0) && table.isUsual($0) }
            && root.rows.contains { $0.values.count == table.columns.count }
    }
}

extension SalvagedObject {
    /// Whether it is a full-text index with external content.
    /// <https://www.sqlite.org/fts5.html#external_content_tables>
    fileprivate var isIndexOfOtherTable: Bool {
        module?.hasPrefix("fts") == true && sql?.contains(/(?i)\bcontent\s*=\s*['"]?\w/) == true
    }

    fileprivate func with(root: Int) -> SalvagedObject {
        SalvagedObject(kind: kind, name: name, table: table, root: root, sql: sql)
    }
}
