import GRDB
import MigrationKit

/// A full-text table that finds its texts in another table, or in a view, by rowids.
///
/// It has no texts until it is filled, and keeps the old ones unless triggers follow the rows. Neither
/// `quick_check` nor `integrity_check` compares them.
/// <https://www.sqlite.org/fts5.html#external_content_tables>
package struct FullTextIndex: Hashable {
    package let name: String
    let module: String
    /// The table or view with the texts.
    package let content: String
    /// The query of the rowids that there are.
    private let rowIDs: String
    /// `VACUUM` gives the rows of a table without an `INTEGER PRIMARY KEY` other rowids, and a rebuild of
    /// the table may do so, too. <https://www.sqlite.org/lang_vacuum.html>
    private let rowIDsMayChange: Bool
    private let isOfView: Bool

    /// Those of a database.
    static func all(in db: Database) throws -> [FullTextIndex] {
        let tables = try Row.fetchAll(
            db,
            sql: """
                SELECT name, sql FROM main.sqlite_master
                WHERE type = 'table' AND rootpage = 0 AND lower(sql) LIKE '%content%' ORDER BY name
                """
        )
        return try tables.compactMap { row in
            guard let text = VirtualTableText(row[1]), let content = text.contentTable else {
                return nil
            }
            return try FullTextIndex(row[0], text, content: content, db)
        }
    }

    /// The one with a name.
    package static func named(_ name: String, in db: Database) throws -> FullTextIndex? {
        try all(in: db).first { $0.name.isSameName(as: name) }
    }

    private init?(
        _ name: String,
        _ text: VirtualTableText,
        content: String,
        _ db: Database
    ) throws {
        let object = try Row.fetchOne(
            db,
            sql: """
                SELECT name, type = 'view' FROM main.sqlite_master
                WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE
                """,
            arguments: [content]
        )
        guard let object else { return nil }
        let columns = try Row.fetchAll(
            db,
            sql: "SELECT lower(name) FROM pragma_table_xinfo(?, 'main')",
            arguments: [content]
        ).map { $0[0] as String }
        let isView: Bool = object[1]
        let key = text.contentRowID ?? "rowid"
        // The name of a column means that column, which has no other value after VACUUM.
        let isRowID = ["rowid", "_rowid_", "oid"].contains(key) && !columns.contains(key)
        guard columns.contains(key) || isRowID && !isView else { return nil }
        rowIDsMayChange = try isView || isRowID && !db.hasRowIDColumn(content)
        isOfView = isView
        self.name = name
        module = text.module
        self.content = object[0]
        let quoted = GRDBMigrationSQLHelpers.quoted(self.content)
        // SQLite looks into the table itself if no condition is there.
        rowIDs =
            isView
            ? "SELECT \"\(key)\" FROM main.\(quoted) WHERE \"\(key)\" IS NOT NULL"
            : "SELECT \(isRowID ? key : "\"\(key)\"") FROM main.\(quoted)"
    }

    var error: GRDBMigrationVerificationError {
        .fullTextMismatch(table: name, content: content)
    }

    /// The table with an entry for each text.
    private var sizes: String { "main." + GRDBMigrationSQLHelpers.quoted("\(name)_docsize") }

    /// Whether the index has rowids that no row has, or no text although there are rows.
    func findsNoRows(in db: Database) throws -> Bool {
        if try holds("NOT EXISTS (SELECT 1 FROM \(sizes)) AND EXISTS (\(rowIDs))", in: db) {
            return true
        }
        return try rowIDsMayChange
            && holds("EXISTS (SELECT 1 FROM \(sizes) WHERE rowid NOT IN (\(rowIDs)))", in: db)
    }

    /// Whether the index has as many texts as there are rows. One of some rows is meant so.
    private func isComplete(in db: Database) throws -> Bool {
        try holds("(SELECT count(*) FROM \(sizes)) = (SELECT count(*) FROM (\(rowIDs)))", in: db)
    }

    private func holds(_ condition: String, in db: Database) throws -> Bool {
        do {
            return try Bool.fetchOne(db, sql: "SELECT \(condition)") ?? false
        } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
            // It keeps no sizes, or the view needs a function that only the app has.
            return false
        }
    }

    /// Whether the module's own check says that it doesn't match its content. An index of some rows
    /// doesn't, either.
    package func differs(in db: Database) throws -> Bool {
        do {
            try VirtualTables.runOwnCheck(
                of: VirtualTables.Table(name: name, module: module),
                in: db
            )
            return false
        } catch let error as DatabaseError where !error.resultCode.preventsReading {
            return error.resultCode == .SQLITE_CORRUPT
        }
    }

    // MARK: - What a Run Has Done

    /// The full-text tables of a database, and what they were like.
    package struct States {
        private enum State { case findsNoRows, complete, partial }

        private var states: [FullTextIndex: State] = [:]

        package init() {}

        package init(in db: Database) throws {
            for index in try all(in: db) {
                states[index] =
                    if try index.findsNoRows(in: db) {
                        .findsNoRows
                    } else {
                        try index.isComplete(in: db) ? .complete : .partial
                    }
            }
        }

        /// Those that don't match their content now, and did before, or weren't there.
        ///
        /// - Parameter touched: The tables that have changed since then, folded; `nil` if any may have.
        package func leftWrong(
            in db: Database,
            touched: Set<String>?
        ) throws -> [FullTextIndex] {
            try all(in: db).filter { index in
                let before = states[index]
                if try before != .findsNoRows && index.findsNoRows(in: db) { return true }
                guard try before == .complete || before == nil && index.isComplete(in: db),
                    index.isTouched(by: touched)
                else { return false }
                return try index.differs(in: db)
            }
        }
    }

    private func isTouched(by tables: Set<String>?) -> Bool {
        guard let tables else { return true }
        // Of a view, the tables that it reads may be among them.
        return isOfView && !tables.isEmpty || tables.contains(name.foldedName)
            || tables.contains(content.foldedName)
    }

    // MARK: - What a Step Has Done

    /// What was wrong at some time.
    struct Faults {
        fileprivate var indexes: Set<FullTextIndex> = []
        fileprivate var differing: Set<FullTextIndex> = []
        fileprivate var findingNoRows: Set<FullTextIndex> = []
    }

    /// Compares all of them with their content, which takes the write lock and changes nothing.
    ///
    /// - Parameter earlier: What was wrong before: only indexes that were there are compared.
    static func faults(in db: Database, since earlier: Faults? = nil) throws -> Faults {
        var faults = Faults()
        faults.indexes = try Set(all(in: db).filter(\.rowIDsMayChange))
        guard !faults.indexes.isEmpty, !db.configuration.readonly else { return faults }
        try db.inTransaction(.immediate) {
            for index in faults.indexes {
                if try index.findsNoRows(in: db) { faults.findingNoRows.insert(index) }
                let wasThere = earlier?.indexes.contains(index) ?? true
                if try wasThere && index.differs(in: db) { faults.differing.insert(index) }
            }
            return .rollback
        }
        return faults
    }

    /// Throws if a step that ran outside of a transaction has left an index that doesn't match.
    static func check(since earlier: Faults, in db: Database) throws {
        let now = try faults(in: db, since: earlier)
        let new = now.findingNoRows.subtracting(earlier.findingNoRows)
            .union(now.differing.subtracting(earlier.differing))
        if let first = new.min(by: { $0.name < $1.name }) { throw first.error }
    }
}

extension GRDBMigrationVerifier {
    /// The full-text tables that find rows which don't exist any more, or nothing.
    static func strayIndexes(in db: Database) throws -> [FullTextIndex] {
        try FullTextIndex.all(in: db).filter { try $0.findsNoRows(in: db) }
    }

    static func verifyFullText(in db: Database) throws {
        if let stray = try strayIndexes(in: db).first { throw stray.error }
    }

    /// The outcome of a check of these full-text tables.
    static func fullText(in db: Database) throws -> VerificationOutcome {
        var outcome = VerificationOutcome()
        let strays = try strayIndexes(in: db)
        for stray in strays {
            outcome.add(
                VerificationFinding(stray.error.localizedDescription, table: stray.name)
            )
        }
        outcome.detail = strays.first?.error.localizedDescription
        return outcome
    }
}

extension Database {
    /// Whether a table's rowid is its `INTEGER PRIMARY KEY`, or it has no rowid.
    fileprivate func hasRowIDColumn(_ table: String) throws -> Bool {
        // A primary key that isn't the rowid has an index, that of a table WITHOUT ROWID too.
        let hasKeyIndex =
            try Bool.fetchOne(
                self,
                sql:
                    "SELECT EXISTS (SELECT 1 FROM pragma_index_list(?, 'main') WHERE origin = 'pk')",
                arguments: [table]
            ) ?? false
        let keyTypes = try String.fetchAll(
            self,
            sql: "SELECT upper(type) FROM pragma_table_info(?, 'main') WHERE pk > 0",
            arguments: [table]
        )
        if hasKeyIndex { return try isWithoutRowID(table) }
        return keyTypes == ["INTEGER"]
    }

    private func isWithoutRowID(_ table: String) throws -> Bool {
        try Bool.fetchOne(
            self,
            sql:
                "SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ? COLLATE NOCASE",
            arguments: [table]
        ) ?? false
    }
}
