import MigrationKitGRDB
import MigrationKitSchema

/// The rule about `VACUUM`, which may give the rows of a table without an `INTEGER PRIMARY KEY` other
/// rowids. <https://www.sqlite.org/lang_vacuum.html>
enum RenumberedRows {
    static func check(_ step: StepRecord, _ findings: inout FindingList) {
        // SQLite refuses it in a transaction.
        guard !step.usesTransaction else { return }
        check(step.statements, &findings)
        check(step.down?.statements ?? [], &findings)
    }

    private static func check(_ statements: [StatementRecord], _ findings: inout FindingList) {
        for vacuum in statements {
            guard case .other("VACUUM") = vacuum.kind else { continue }
            let schema = vacuum.before
            let later = statements.suffix(from: vacuum.number + 1)
            var others: [SchemaModel.Table] = []
            for table in schema.tables.values.sorted(by: { $0.name < $1.name })
            where table.mayBeRenumbered {
                let indexes = schema.fullTextTables(reading: table)
                let stale = indexes.filter { index in
                    !later.contains { $0.failure == nil && $0.fills(index) }
                }
                for index in stale {
                    findings.add(
                        .vacuumRenumbersRows,
                        // Today, SQLite keeps the rowids of a table that has an index.
                        level: schema.hasIndex(table) ? .warning : nil,
                        at: vacuum,
                        "VACUUM may give the rows of table '\(table.name)' other rowids, by which the "
                            + "full-text table '\(index)' finds them",
                        fix: "Rebuild it after VACUUM, in the same migration: "
                            + "`INSERT INTO \(index) (\(index)) VALUES ('rebuild')`."
                    )
                }
                let readers = schema.readers(ofRowIDsOf: table)
                if let reader = readers.first {
                    findings.add(
                        .vacuumRenumbersRows,
                        level: schema.hasIndex(table) ? .note : .warning,
                        at: vacuum,
                        "VACUUM may give the rows of table '\(table.name)' other rowids, and \(reader) "
                            + "reads them",
                        fix: keyAdvice
                    )
                } else if indexes.isEmpty {
                    others.append(table)
                }
            }
            report(others.filter { !schema.hasIndex($0) }, level: .warning, vacuum, &findings)
            report(others.filter(schema.hasIndex), level: .note, vacuum, &findings)
        }
    }

    private static func report(
        _ tables: [SchemaModel.Table],
        level: LintLevel,
        _ vacuum: StatementRecord,
        _ findings: inout FindingList
    ) {
        guard !tables.isEmpty else { return }
        findings.add(
            .vacuumRenumbersRows,
            level: level,
            at: vacuum,
            "VACUUM may give the rows of \(tables.count == 1 ? "table" : "tables") "
                + "\(listed(tables.map(\.name))) other rowids: what has stored them means other rows "
                + "afterwards",
            fix: keyAdvice
        )
    }

    private static let keyAdvice =
        "Give the table an INTEGER PRIMARY KEY before, if anything stores its rowids."
}

extension SchemaModel.Table {
    /// Whether `VACUUM` may give its rows other rowids.
    fileprivate var mayBeRenumbered: Bool {
        !isVirtual && !isWithoutRowID && rowIDColumn == nil
    }
}

extension SchemaModel {
    fileprivate func hasIndex(_ table: Table) -> Bool {
        table.key != nil || !table.uniques.isEmpty || !indexes(of: table.name).isEmpty
    }

    /// The full-text tables that find a table's rows by their rowids, perhaps through a view.
    fileprivate func fullTextTables(reading table: Table) -> [String] {
        let views = views.values.filter { readsRowIDs($0.sql, of: table) }.map(\.name)
        return tables.values.filter { index in
            guard let text = index.isVirtual ? VirtualTableText(index.sql) : nil,
                let content = text.contentTable
            else { return false }
            if views.contains(where: content.isSameName) { return true }
            let key = text.contentRowID ?? "rowid"
            // The name of a column means that column.
            return content.isSameName(as: table.name) && rowidNames.contains(key)
                && table.column(key) == nil
        }.map(\.name).sorted()
    }

    /// The triggers and views that read a table's rowids, as `the trigger 'a'`. A trigger that only
    /// keeps a full-text table's content is left out.
    fileprivate func readers(ofRowIDsOf table: Table) -> [String] {
        let indexes = fullTextTables(reading: table)
        let triggers = triggers.values.filter { trigger in
            let words = SQLTokens(trigger.sql).tokens
            return readsRowIDs(trigger.sql, of: table)
                && !indexes.contains { index in words.contains { $0.name == index.foldedName } }
        }.map { "the trigger '\($0.name)'" }.sorted()
        let contents = tables.values.compactMap(\.contentTable)
        let views = views.values.filter { view in
            readsRowIDs(view.sql, of: table) && !contents.contains(where: view.name.isSameName)
        }.map { "the view '\($0.name)'" }.sorted()
        return triggers + views
    }

    /// Whether a text names a table and a rowid that is no column of it.
    private func readsRowIDs(_ sql: String, of table: Table) -> Bool {
        let names = Set(SQLTokens(sql).tokens.filter(\.isName).map(\.name))
        return names.contains(table.name.foldedName)
            && rowidNames.contains { names.contains($0) && table.column($0) == nil }
    }
}
