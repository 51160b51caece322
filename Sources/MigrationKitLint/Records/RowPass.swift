import MigrationKitGRDB
import MigrationKitSchema

/// A run of a migration on a database with rows in every table that it can reach.
struct RowPass {
    let pass: StepPass
    let countsBefore: [String: Int]
    let valuesBefore: [String: ColumnValues]
    let valuesAfter: [String: ColumnValues]
    /// The tables in which more rows lack their parent afterwards than before.
    let orphaned: [String]
    /// The full-text tables that don't match their content afterwards, and did before.
    let staleIndexes: [FullTextIndex]

    /// - Parameters:
    ///   - sources: The migration's statements.
    ///   - database: A copy of the database from before the migration.
    ///   - tables: Those that get rows.
    ///   - before: Its schema.
    ///   - after: The schema after the migration.
    ///   - rebuilt: The tables whose values to compare.
    /// - Returns: `nil` if no table has rows.
    init?(
        _ sources: [SourceStatement],
        on database: ScratchDatabase,
        filling tables: Set<String>,
        _ before: SchemaModel,
        _ after: SchemaModel,
        _ rebuilt: [String],
        _ settings: StepPass.Settings
    ) throws {
        try RowFill(for: database, schema: before).fill(tables)
        countsBefore = database.rowCounts(of: tables).filter { $0.value > 0 }
        guard !countsBefore.isEmpty else { return nil }

        func values(_ schema: SchemaModel) -> [String: ColumnValues] {
            rebuilt.reduce(into: [:]) { values, name in
                values[name.foldedName] = schema.table(name).flatMap(database.values)
            }
        }
        valuesBefore = values(before)
        let orphans = database.orphanCounts()
        let indexes = database.read { try? FullTextIndex.States(in: $0) }
        pass = try StepPass(
            sources,
            on: database,
            schema: before,
            countingFrom: countsBefore,
            settings
        )
        valuesAfter = values(after)
        orphaned = database.orphanCounts().filter { $1 > orphans[$0, default: 0] }.keys.sorted()
        // If the rows are refused, it is about none of them.
        let isRefused = pass.statements.contains { $0.failure != nil }
        staleIndexes =
            isRefused
            ? []
            : database.read { db in
                (try? indexes?.leftWrong(in: db, touched: nil)) ?? []
            }
    }
}

extension ParsedStatement {
    /// Whether it may change existing rows, or depend on them.
    var mayMeetRows: Bool {
        switch kind {
        case .createTable, .createTemporary: hasKeywordAnywhere("SELECT")
        // A full-text table has a column of its own name for commands.
        case .insert(let table, _):
            hasKeywordAnywhere("SELECT") || words.count { $0.name == table.foldedName } > 1
        case .createIndex(_, _, let isUnique): isUnique || indexesExpressions
        case .createVirtualTable: words.contains { $0.name == "content" }
        case .createTrigger, .createView, .dropIndex, .dropTrigger, .dropView,
            .pragma, .select:
            false
        case .dropTable, .renameTable, .renameColumn, .addColumn, .dropColumn, .update, .delete,
            .other:
            true
        }
    }
}

extension SchemaModel {
    /// What full-text tables have their texts from, in lower case.
    var fullTextContents: Set<String> {
        Set(tables.values.compactMap { $0.contentTable?.foldedName })
    }

    /// The tables and views that statements name which may meet rows, in lower case.
    func named(in sources: [SourceStatement]) -> Set<String> {
        let contents = fullTextContents
        return sources.reduce(into: []) { names, source in
            switch source.parsed.kind {
            case .dropView(let view) where contents.contains(view.foldedName):
                names.insert(view.foldedName)
            case .dropTrigger(let name):
                if let table = triggers[name.foldedName]?.table.foldedName, contents.contains(table)
                {
                    names.insert(table)
                }
            case .createTrigger:
                names.formUnion(contents.intersection(source.parsed.words.map(\.name)))
            default: break
            }
            guard source.parsed.mayMeetRows else { return }
            // A full-text table may name its content in single quotes.
            let isVirtual = if case .createVirtualTable = source.parsed.kind { true } else { false }
            for word in source.parsed.words where isVirtual || !word.isLiteral {
                let name = word.name
                if tables[name] != nil || views[name] != nil { names.insert(name) }
            }
        }
    }

    /// The tables that statements can reach: those named, those that triggers or views name, their
    /// children, and the parents of all of them.
    ///
    /// - Parameter others: Further names, in lower case.
    func reachable(
        from sources: [SourceStatement],
        and others: Set<String> = []
    ) -> Set<String> {
        var found: Set<String> = []
        var open = named(in: sources).union(others.filter { tables[$0] != nil || views[$0] != nil })
        while let name = open.popFirst() {
            guard found.insert(name).inserted else { continue }
            if let content = tables[name]?.contentTable?.foldedName, tables[content] != nil {
                open.insert(content)
            }
            let texts = triggers(of: name).map(\.definition) + [views[name]?.definition ?? ""]
            for text in texts {
                for word in text.split(separator: " ") {
                    let word = String(word).unquotedName.foldedName
                    if tables[word] != nil || views[word] != nil { open.insert(word) }
                }
            }
        }
        for child in tables.values
        where child.foreignKeys.contains(where: { found.contains($0.table.foldedName) }) {
            found.insert(child.name.foldedName)
        }
        open = found
        while let name = open.popFirst() {
            for key in tables[name]?.foreignKeys ?? [] {
                let parent = key.table.foldedName
                if found.insert(parent).inserted { open.insert(parent) }
            }
        }
        return found.filter { tables[$0] != nil }
    }
}
