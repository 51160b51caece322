import GRDB
import MigrationKitGRDB

extension [SchemaRename] {
    /// The renames with names as the schemas spell them: those of tables first.
    ///
    /// - Throws: ``SchemaDifferenceError/unknownRename(_:reason:)`` if one names nothing that goes,
    ///   or nothing that comes.
    func validated(from old: SchemaModel, to new: SchemaModel) throws -> [SchemaRename] {
        var tables: [SchemaRename] = []
        for rename in self where rename.column == nil {
            tables.append(try rename.validatedTable(from: old, to: new, besides: tables))
        }
        var columns: [SchemaRename] = []
        for rename in self where rename.column != nil {
            let table = tables.first { $0.table.isSameName(as: rename.table) }
            columns.append(
                try rename.validatedColumn(
                    from: old,
                    to: new.table(table?.newName ?? rename.table),
                    besides: columns
                )
            )
        }
        return tables + columns
    }

    /// The renames as changes. The names are those of ``validated(from:to:)``.
    func changes(in schema: SchemaModel) -> [SchemaChange] {
        map { rename in
            SchemaChange(
                action: .renamed,
                kind: rename.column == nil ? .table : .column,
                table: rename.column == nil ? rename.newName : newTable(rename.table, in: schema),
                name: rename.newName,
                before: rename.column ?? rename.table,
                after: rename.newName
            )
        }
    }

    /// The new name of a table.
    fileprivate func newTable(_ name: String, in schema: SchemaModel) -> String {
        let rename = first { $0.column == nil && $0.table.isSameName(as: name) }
        return rename?.newName ?? schema.table(name)?.name ?? name
    }
}

extension SchemaRename {
    fileprivate func validatedTable(
        from old: SchemaModel,
        to new: SchemaModel,
        besides others: [SchemaRename]
    ) throws -> SchemaRename {
        func fail(_ reason: String) -> SchemaDifferenceError {
            .unknownRename(self, reason: reason)
        }
        guard old.view(table) == nil else { throw fail("\(table) is a view") }
        guard let present = old.table(table) else {
            throw fail("the present schema has no table \(table)")
        }
        guard new.table(table) == nil else { throw fail("the wanted schema still has \(table)") }
        guard let wanted = new.table(newName) else {
            throw fail("the wanted schema has no table \(newName)")
        }
        guard old.table(newName) == nil, old.view(newName) == nil else {
            throw fail("the present schema already has \(newName)")
        }
        let isTwice = others.contains {
            $0.table.isSameName(as: table) || $0.newName.isSameName(as: newName)
        }
        guard !isTwice else { throw fail("one of the names is in another rename") }
        return SchemaRename(table: present.name, newName: wanted.name)
    }

    fileprivate func validatedColumn(
        from old: SchemaModel,
        to newTable: SchemaModel.Table?,
        besides others: [SchemaRename]
    ) throws -> SchemaRename {
        func fail(_ reason: String) -> SchemaDifferenceError {
            .unknownRename(self, reason: reason)
        }
        let column = column ?? ""
        guard let oldTable = old.table(table) else {
            throw fail("the present schema has no table \(table)")
        }
        guard let newTable else { throw fail("the wanted schema has no table \(table)") }
        guard !oldTable.isVirtual else { throw fail("\(table) is a virtual table") }
        guard let present = oldTable.column(column) else {
            throw fail("\(table) has no column \(column) in the present schema")
        }
        guard newTable.column(column) == nil else {
            throw fail("\(newTable.name) still has the column \(column) in the wanted schema")
        }
        guard let wanted = newTable.column(newName) else {
            throw fail("\(newTable.name) has no column \(newName) in the wanted schema")
        }
        guard oldTable.column(newName) == nil else {
            throw fail("\(table) already has the column \(newName) in the present schema")
        }
        let isTwice = others.contains { other in
            other.table.isSameName(as: table)
                && (other.column?.isSameName(as: column) == true
                    || other.newName.isSameName(as: newName))
        }
        guard !isTwice else { throw fail("one of the names is in another rename") }
        return SchemaRename(table: oldTable.name, column: present.name, newName: wanted.name)
    }

    /// - Parameter table: The table's name at that time.
    fileprivate func statement(_ table: String) -> String {
        let part = column.map { "COLUMN \($0.quotedName) " } ?? ""
        return "ALTER TABLE \(table.quotedName) RENAME \(part)TO \(newName.quotedName)"
    }
}

// MARK: - Renaming

extension DatabaseSchema {
    /// The objects after renames. SQLite itself changes what names a table or a column, on a copy
    /// of the schema in memory. <https://www.sqlite.org/lang_altertable.html>
    ///
    /// - Parameter renames: Renames that are valid, those of tables first.
    func renaming(_ renames: [SchemaRename]) throws -> SchemaModel {
        guard !renames.isEmpty else { return model }
        var configuration = Configuration()
        // The schema may have been made where SQLite takes them.
        configuration.acceptsDoubleQuotedStringLiterals = true
        configuration.foreignKeysEnabled = false
        return try MemoryDatabase.run(configuration) { db in
            for statement in statements { try db.execute(orSkippingModule: statement) }
            // SQLite renames nothing while a view or a trigger names what is missing.
            let listing = try SchemaListing(of: db)
            for (title, message) in try listing.problems(in: db).sorted(by: { $0.key < $1.key }) {
                let error = DatabaseError(resultCode: .SQLITE_ERROR, message: message)
                if MemoryDatabase.canReplace(error) { throw error }
                try db.execute(dropping: title, in: listing)
            }
            for rename in renames {
                let table =
                    rename.column == nil ? rename.table : renames.newTable(rename.table, in: model)
                do {
                    try db.execute(sql: rename.statement(table))
                } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
                    if MemoryDatabase.canReplace(error) { throw error }
                    throw SchemaDifferenceError.unknownRename(
                        rename,
                        reason: error.message ?? "\(error.resultCode)"
                    )
                }
            }
            return try SchemaReader().schema(of: db).adding(model, unless: renames)
        }
    }
}

extension Database {
    /// Creates an object. A virtual table of a module that only the app has stays as it is, with
    /// its triggers.
    fileprivate func execute(orSkippingModule statement: String) throws {
        do {
            try run(statement: statement)
        } catch let error as DatabaseError {
            let message = error.message ?? ""
            let lacks = ["no such module: ", "no such table: ", "no such tokenizer: "]
            guard lacks.contains(where: message.contains) else { throw error }
        }
    }

    fileprivate func execute(dropping title: String, in listing: SchemaListing) throws {
        guard let object = listing.all.first(where: { $0.title == title }) else { return }
        let kind = object.kind == .view ? "VIEW" : "TRIGGER"
        try execute(sql: "DROP \(kind) IF EXISTS \(object.name.quotedName)")
    }
}

extension SchemaModel {
    /// Adds the objects that couldn't be created, as they were.
    fileprivate func adding(_ original: SchemaModel, unless renames: [SchemaRename]) -> SchemaModel
    {
        var all = self
        let renamed = Set(renames.filter { $0.column == nil }.map(\.table.foldedName))
        all.tables.merge(original.tables.filter { !renamed.contains($0.key) }) { own, _ in own }
        all.indexes.merge(original.indexes) { own, _ in own }
        all.views.merge(original.views) { own, _ in own }
        all.triggers.merge(original.triggers) { own, _ in own }
        return all
    }
}
