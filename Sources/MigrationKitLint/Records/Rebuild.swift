import MigrationKitSchema

/// A table that a migration replaces by a new one with the same name.
///
/// SQLite's `ALTER TABLE` can't do everything. So migrations create a new table, copy the rows, drop
/// the old table and rename the new one; or rename the old table first; or keep the rows in a
/// temporary table meanwhile. <https://www.sqlite.org/lang_altertable.html#otheralter>
struct Rebuild {
    /// The table as it was.
    let before: SchemaModel.Table

    /// The table as it is afterwards.
    let after: SchemaModel.Table

    /// The statements that copy its rows, in order, also into another table and out of it again.
    let copies: [Copy]

    /// The statement that drops the old table; `nil` if the old table stays under another name.
    let drop: StatementRecord?

    /// The statement that renames the old table.
    let renameOfOld: StatementRecord?

    /// The statement that creates the new table.
    let creation: StatementRecord

    /// The name under which the new table was created.
    let firstName: String

    /// The columns of the old table that were renamed before the rows were copied: new names by old
    /// ones in lower case.
    let columnRenames: [String: String]

    /// Whether the new table was created under another name.
    var isRenamedIntoPlace: Bool { !firstName.isSameName(as: table) }

    /// A statement that writes rows of one table into another.
    struct Copy {
        let statement: StatementRecord
        /// Whether it reads the old table itself.
        let isFromOld: Bool
        /// Whether it writes the new table itself.
        let isIntoNew: Bool
        /// The columns that it reads from its source, in lower case.
        let readColumns: Set<String>
        /// The columns of its source, in lower case.
        let sourceColumns: Set<String>
    }

    var table: String { before.name }

    /// Whether the table is dropped and created again, and no row is copied: not a rebuild that
    /// went wrong, but one that was never meant to keep rows.
    var isAnew: Bool {
        guard copies.isEmpty, let drop, !isRenamedIntoPlace else { return false }
        return drop.number < creation.number
    }

    /// How many rows the old table has when it is dropped; `nil` if that isn't known.
    var rowsAtDrop: Int? {
        guard let drop, case .dropTable(let name) = drop.kind else { return nil }
        return drop.rows[name.foldedName]?.before
    }

    /// The statement to report on: the one after which the loss can't be undone.
    var end: StatementRecord { drop ?? renameOfOld ?? creation }

    /// The name by which a column of the old table is copied.
    func name(of column: SchemaModel.Column) -> String {
        columnRenames[column.name.foldedName] ?? column.name
    }

    /// Whether a column of the old table is read by every copy that could read it.
    func carries(_ column: String) -> Bool {
        let column = column.foldedName
        return copies.contains { $0.isFromOld && $0.readColumns.contains(column) }
            && copies.allSatisfy {
                $0.isFromOld || !$0.sourceColumns.contains(column)
                    || $0.readColumns.contains(column)
            }
    }
}

extension Rebuild {
    /// Finds the rebuilds of a migration.
    static func all(in statements: [StatementRecord], before: SchemaModel) -> [Rebuild] {
        // Only a table that is created takes another one's place.
        let createsTable = statements.contains { statement in
            if case .createTable = statement.kind { true } else { false }
        }
        guard createsTable else { return [] }
        var tracks = TableTracks(before)
        var unsure: Set<String> = []
        for statement in statements {
            if statement.failure == nil {
                tracks.follow(statement)
            } else if !statement.failureIsExplained {
                unsure.formUnion(statement.parsed.words.map(\.name))
            }
        }
        let after = statements.last?.after ?? before
        return before.tables.values.compactMap { tracks.rebuild(of: $0, after: after) }
            .filter { rebuild in
                // What a failed statement would have copied isn't known.
                unsure.isDisjoint(with: [rebuild.table.foldedName, rebuild.firstName.foldedName])
            }
            .sorted { $0.table < $1.table }
    }
}

/// Follows tables through renames, and rows from table to table.
private struct TableTracks {
    private struct Track {
        var creation: StatementRecord?
        var drop: StatementRecord?
        var firstRename: StatementRecord?
        var original: String
        /// New names of columns by the first ones in lower case.
        var columnRenames: [String: String] = [:]
        /// The statements that wrote rows of other tables into it.
        var inflows:
            [(source: Int, copy: StatementRecord, columns: Set<String>, all: Set<String>)] =
                []
    }

    private var tracks: [Track] = []
    /// The current tables, as `main.name` or `temp.name` in lower case.
    private var current: [String: Int] = [:]

    init(_ schema: SchemaModel) {
        for (key, table) in schema.tables where !table.isVirtual {
            current["main." + key] = tracks.count
            tracks.append(Track(original: table.name))
        }
    }

    private func key(_ name: String) -> String {
        let temporary = "temp." + name.foldedName
        return current[temporary] == nil ? "main." + name.foldedName : temporary
    }

    mutating func follow(_ statement: StatementRecord) {
        switch statement.kind {
        case .createTable(let name):
            guard statement.before.table(name) == nil, statement.after.table(name) != nil
            else { break }
            create("main." + name.foldedName, name, statement)
        case .createTemporary(let name):
            guard current["temp." + name.foldedName] == nil else { break }
            create("temp." + name.foldedName, name, statement)
        case .dropTable(let name):
            if let track = current.removeValue(forKey: key(name)) { tracks[track].drop = statement }
            return
        case .renameTable(let old, let new):
            let oldKey = key(old)
            guard let track = current.removeValue(forKey: oldKey) else { return }
            current[String(oldKey.prefix(5)) + new.foldedName] = track
            tracks[track].firstRename = tracks[track].firstRename ?? statement
            return
        case .renameColumn(let table, let column, let new):
            guard let track = current[key(table)] else { return }
            let renames = tracks[track].columnRenames
            let first = renames.first { $0.value.isSameName(as: column) }?.key
            tracks[track].columnRenames[first ?? column.foldedName] = new
            return
        default:
            break
        }
        noteFlow(of: statement)
    }

    private mutating func create(_ key: String, _ name: String, _ statement: StatementRecord) {
        current[key] = tracks.count
        tracks.append(Track(creation: statement, original: name))
    }

    private mutating func noteFlow(of statement: StatementRecord) {
        let target: Int?
        switch statement.kind {
        case .insert(let name, _), .update(let name, _), .createTable(let name),
            .createTemporary(let name):
            target = current[key(name)]
        default: return
        }
        guard let target else { return }
        var read: [Int: Set<String>] = [:]
        for action in statement.actions where action.kind == .read {
            // Reads of a trigger write nothing into this table.
            if let cause = action.cause, statement.before.view(cause) == nil { continue }
            let name = action.name.foldedName
            guard let source = current[action.database.map { "\($0).\(name)" } ?? key(name)],
                source != target
            else { continue }
            read[source, default: []].insert(action.detail?.foldedName ?? "")
        }
        for (source, columns) in read.sorted(by: { $0.key < $1.key }) {
            let all = Set(
                (statement.before.table(name(of: source))
                    ?? statement.before.table(tracks[source].original))?
                    .columns.map { $0.name.foldedName } ?? []
            )
            tracks[target].inflows.append((source, statement, columns, all))
        }
    }

    private func name(of track: Int) -> String {
        current.first { $0.value == track }.map { String($0.key.dropFirst(5)) } ?? ""
    }

    func rebuild(of old: SchemaModel.Table, after: SchemaModel) -> Rebuild? {
        guard let newTrack = current["main." + old.name.foldedName],
            let creation = tracks[newTrack].creation,
            let oldTrack = tracks.firstIndex(where: {
                $0.creation == nil && $0.original == old.name
            }),
            let new = after.table(old.name), !new.isVirtual
        else { return nil }
        return Rebuild(
            before: old,
            after: new,
            copies: copies(from: oldTrack, to: newTrack),
            drop: tracks[oldTrack].drop,
            renameOfOld: tracks[oldTrack].firstRename,
            creation: creation,
            firstName: tracks[newTrack].original,
            columnRenames: tracks[oldTrack].columnRenames
        )
    }

    private func copies(from old: Int, to new: Int) -> [Rebuild.Copy] {
        var copies: [Rebuild.Copy] = []
        var visited: Set<Int> = []
        func visit(_ target: Int) -> Bool {
            guard visited.insert(target).inserted else { return false }
            var reaches = false
            for flow in tracks[target].inflows {
                guard flow.source == old || visit(flow.source) else { continue }
                reaches = true
                copies.append(
                    Rebuild.Copy(
                        statement: flow.copy,
                        isFromOld: flow.source == old,
                        isIntoNew: target == new,
                        readColumns: flow.columns,
                        sourceColumns: flow.all
                    )
                )
            }
            return reaches
        }
        _ = visit(new)
        return copies
    }
}
