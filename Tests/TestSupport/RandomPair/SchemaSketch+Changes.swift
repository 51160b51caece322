/// The changes of a random schema.
extension SchemaSketch {
    mutating func change() {
        let all: [(String, (inout SchemaSketch) -> Void)] = [
            ("add column", { $0.onTable { $0.addColumn(to: $1, mayBeRequired: true) } }),
            ("add column", { $0.onTable { $0.addColumn(to: $1, mayBeRequired: false) } }),
            ("drop column", { $0.onColumn { $0.drop($2, of: $1) } }),
            ("rename column", { $0.renameColumn() }),
            ("change column", { $0.onColumn { $0.changeColumn($2, of: $1) } }),
            ("change column", { $0.onColumn { $0.changeColumn($2, of: $1) } }),
            ("move column", { $0.moveColumn() }),
            ("add table", { $0.addTable() }),
            ("drop table", { $0.dropTable() }),
            ("rename table", { $0.onTable { $0.rename($1) } }),
            ("change options", { $0.onTable { $0.changeOptions(of: $1) } }),
            ("change key", { $0.onTable { $0.changeKey(of: $1) } }),
            ("change constraints", { $0.onTable { $0.changeConstraints(of: $1) } }),
            ("change objects", { $0.changeObjects() }),
            ("change objects", { $0.changeObjects() }),
            ("change search", { $0.changeSearch() }),
            ("respell", { $0.respell() }),
        ]
        let (name, body) = pick(all)
        changes.append(name)
        body(&self)
    }

    private mutating func onTable(_ body: (inout SchemaSketch, Int) -> Void) {
        guard let place = tables.indices.randomElement(using: &random) else { return }
        body(&self, place)
    }

    /// On a column that isn't of the primary key.
    private mutating func onColumn(_ body: (inout SchemaSketch, Int, Int) -> Void) {
        onTable { sketch, table in
            let columns = sketch.tables[table].columns.indices
                .dropFirst(sketch.tables[table].keyCount)
            guard let column = columns.randomElement(using: &sketch.random) else { return }
            body(&sketch, table, column)
        }
    }

    /// Drops a column, and what names it.
    private mutating func drop(_ place: Int, of table: Int) {
        guard tables[table].columns.count > max(tables[table].keyCount, 0) + 1,
            tables[table].columns.filter({ $0.generated == nil }).count > 1
        else { return }
        let column = tables[table].columns.remove(at: place)
        let token = "{\(column.number)}"
        tables[table].uniques.removeAll { $0.contains(column.number) }
        tables[table].checks.removeAll { $0.contains(token) }
        while let next = tables[table].columns.firstIndex(where: {
            $0.generated?.expression.contains(token) ?? false
        }) {
            let count = tables[table].columns.count
            drop(next, of: table)
            // The last columns stay, as ordinary ones.
            if tables[table].columns.count == count { tables[table].columns[next].generated = nil }
        }
        indexes.removeAll {
            $0.parts.joined().contains(token) || $0.condition?.contains(token) ?? false
        }
        triggers.removeAll { ($0.event + $0.value).contains(token) }
        views.removeAll { $0.columns.contains(column.number) }
        searches.removeAll { $0.columns.contains(column.number) }
    }

    private mutating func renameColumn() {
        onTable { sketch, table in
            let place = Int.random(in: sketch.tables[table].columns.indices, using: &sketch.random)
            let number = sketch.tables[table].columns[place].number
            sketch.tables[table].columns[place].name = sketch.name(["renamed", "new name"])
            if sketch.chance(2) { sketch.searches.removeAll { $0.columns.contains(number) } }
            let plain = sketch.tables[table].columns[place].name
            if plain.contains(" ") || plain.contains("\"") || !plain.allSatisfy(\.isASCII) {
                sketch.searches.removeAll { $0.columns.contains(number) }
            }
        }
    }

    private mutating func moveColumn() {
        onColumn { sketch, table, place in
            let column = sketch.tables[table].columns.remove(at: place)
            let range = sketch.tables[table].keyCount...sketch.tables[table].columns.count
            let target = Int.random(in: range, using: &sketch.random)
            sketch.tables[table].columns.insert(column, at: target)
        }
    }

    private mutating func changeColumn(_ place: Int, of table: Int) {
        var column = tables[table].columns[place]
        switch Int.random(in: 0..<7, using: &random) {
        case 0 where column.parent == nil && (column.generated == nil || !tables[table].isStrict):
            column.type = type(isStrict: tables[table].isStrict)
            if column.defaultValue != nil { column.defaultValue = defaultValue(of: column) }
        case 1 where column.generated == nil: column.isRequired.toggle()
        case 2 where column.generated == nil && column.parent == nil:
            column.defaultValue = column.defaultValue == nil ? defaultValue(of: column) : nil
        case 3 where column.parent == nil:
            column.collation = pick([nil, "NOCASE", "RTRIM", "BINARY"])
        case 4: column.check = column.check == nil ? check(of: column.number) : nil
        case 5 where column.generated == nil: column.isUnique.toggle()
        case 6 where column.generated != nil:
            column.generated?.isStored.toggle()
            if chance(3) { column.generated = nil }
        default:
            if column.parent != nil {
                column.parent = nil
            } else if column.generated == nil, let parent = parents.randomElement(using: &random) {
                refer(&column, to: parent)
            }
        }
        tables[table].columns[place] = column
    }

    private mutating func forget(table number: Int) {
        for place in tables.indices {
            for column in tables[place].columns.indices
            where tables[place].columns[column].parent?.table == number {
                tables[place].columns[column].parent = nil
            }
        }
    }

    private mutating func dropTable() {
        guard tables.count > 1 else { return }
        onTable { sketch, place in
            let table = sketch.tables.remove(at: place)
            sketch.forget(table: table.number)
            sketch.indexes.removeAll { $0.table == table.number }
            sketch.views.removeAll { $0.table == table.number }
            sketch.triggers.removeAll { $0.table == table.number }
            sketch.searches.removeAll { $0.table == table.number }
        }
    }

    private mutating func rename(_ table: Int) {
        tables[table].name = name(["renamed", "new name", "nöw"])
    }

    private mutating func changeOptions(of table: Int) {
        if chance(2) {
            tables[table].isStrict.toggle()
            let types = [
                "": "ANY", "NUMERIC": "REAL", "DECIMAL(10, 2)": "REAL", "VARCHAR(20)": "TEXT",
                "BOOLEAN": "INTEGER",
            ]
            for place in tables[table].columns.indices where tables[table].isStrict {
                let type = tables[table].columns[place].type
                let column = tables[table].columns[place]
                tables[table].columns[place].type =
                    column.generated != nil ? "ANY" : types[type] ?? type
                if column.defaultValue != nil {
                    tables[table].columns[place].defaultValue = defaultValue(
                        of: tables[table].columns[place]
                    )
                }
            }
        } else if [.text, .pair].contains(tables[table].key) {
            tables[table].isWithoutRowID.toggle()
            searches.removeAll { $0.table == tables[table].number }
        } else if tables[table].key == .rowID {
            tables[table].key = .autoincrement
        } else if tables[table].key == .autoincrement {
            tables[table].key = .rowID
        }
    }

    /// Gives up a primary key of text or of two columns, or makes one of the first column.
    private mutating func changeKey(of table: Int) {
        let number = tables[table].number
        switch tables[table].key {
        case .text, .pair:
            forget(table: number)
            tables[table].key = .none
            tables[table].isWithoutRowID = false
            searches.removeAll { $0.table == number }
        case .none where tables[table].columns[0].generated == nil:
            tables[table].key = .text
        default: return
        }
    }

    private mutating func changeConstraints(of table: Int) {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: addCheck(to: table)
        case 1 where !tables[table].checks.isEmpty: tables[table].checks.removeLast()
        case 2: addUnique(to: table)
        default: if !tables[table].uniques.isEmpty { tables[table].uniques.removeLast() }
        }
    }

    private mutating func changeObjects() {
        let index = indexes.indices.randomElement(using: &random)
        let view = views.indices.randomElement(using: &random)
        let trigger = triggers.indices.randomElement(using: &random)
        switch (Int.random(in: 0..<9, using: &random), index, view, trigger) {
        case (0, _, _, _): addIndex()
        case (1, let place?, _, _): indexes.remove(at: place)
        case (2, let place?, _, _):
            if chance(3) {
                indexes[place].isUnique.toggle()
            } else {
                indexes[place].parts.reverse()
            }
            if chance(2) { indexes[place].condition = nil }
        case (3, _, _, _): addView()
        case (4, _, let place?, _): views.remove(at: place)
        case (5, _, let place?, _): views[place].filter = " WHERE 1 = \(number())"
        case (6, _, _, _): addTrigger()
        case (7, _, _, let place?): triggers.remove(at: place)
        case (8, _, _, let place?): triggers[place].name = name(["other"])
        default: return
        }
    }

    private mutating func changeSearch() {
        guard let place = searches.indices.randomElement(using: &random) else { return addSearch() }
        switch Int.random(in: 0..<3, using: &random) {
        case 0: searches.remove(at: place)
        case 1: searches[place].options = ", tokenize='unicode61'"
        default: searches[place].isExternal.toggle()
        }
    }
}
