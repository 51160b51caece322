import MigrationKitSchema

extension Rebuild {
    /// What the only copy gives the columns of the new table: those of the old one, also under another
    /// name, or expressions.
    ///
    /// What other statements do isn't known: then each column counts as copied.
    var copiedValues: (values: ColumnExpressions, renames: [SchemaRename]) {
        let former = columnRenames.compactMap { old, new in
            before.column(old).flatMap { column in
                after.column(new) == nil
                    ? nil : SchemaRename(table: before.name, column: column.name, newName: new)
            }
        }.sorted { $0.newName < $1.newName }
        guard copies.count == 1, copies[0].isFromOld, copies[0].isIntoNew,
            case .insert = copies[0].statement.kind,
            let pairs = copiedPairs(in: copies[0].statement)
        else { return (ColumnExpressions(), former) }
        var values = ColumnExpressions()
        var renames: [SchemaRename] = []
        for column in after.columns where column.generated == nil {
            let pair = pairs.first { $0.target.isSameName(as: column.name) }
            guard let source = pair?.source else {
                if before.column(column.name) != nil {
                    values[after.name, column.name] = column.defaultValue?.text ?? "NULL"
                }
                continue
            }
            guard let plain = source.column.flatMap(formerColumn) else {
                let cast = source.castColumn.flatMap(formerColumn)
                if let cast, cast.name.isSameName(as: column.name) { continue }
                values[after.name, column.name] = source.text
                continue
            }
            guard !plain.name.isSameName(as: column.name) else { continue }
            if before.column(column.name) == nil, after.column(plain.name) == nil,
                !renames.contains(where: { $0.column == plain.name })
            {
                renames.append(
                    SchemaRename(table: before.name, column: plain.name, newName: column.name)
                )
            } else {
                values[after.name, column.name] = plain.name.quotedName
            }
        }
        return (values, renames)
    }

    /// The old column by the name that it has when rows are copied.
    private func formerColumn(_ name: String) -> SchemaModel.Column? {
        before.columns.first { self.name(of: $0).isSameName(as: name) }
    }

    /// The columns that a copy fills, each with what it is given; `nil` if that can't be read from it.
    func copiedPairs(
        in copy: StatementRecord
    ) -> [(target: String, source: ParsedStatement.SelectedValue)]? {
        let targets =
            copy.parsed.insertedColumns
            ?? after.columns.filter { $0.generated == nil && !$0.isHidden }.map(\.name)
        let sources =
            copy.parsed.selectedValues
            ?? before.columns.filter { !$0.isHidden }.map { .init(column: name(of: $0)) }
        return targets.count == sources.count ? Array(zip(targets, sources)) : nil
    }
}
