import Foundation
import GRDB
import MigrationKit

/// What makes a row of a table another one: its unique keys, and the number that SQLite gives it.
struct TableShape {
    /// The types of its columns, in upper case, by their folded names.
    let types: [String: String]
    private let generated: Set<String>
    /// The columns that have no NULL.
    let required: Set<String>
    /// What names the rowid, folded; none in a table WITHOUT ROWID.
    let rowidNames: Set<String>
    /// The column that is the rowid, folded.
    let rowid: String?
    let isAutoincrement: Bool
    /// Whether a column may compare in another way than by its bytes.
    let hasCollation: Bool
    /// The rules that its unique keys declare: `IGNORE` and `REPLACE`.
    let rules: Set<String>
    let keys: [Key]

    /// A unique index, or a primary key that has one.
    struct Key {
        /// Its columns, folded. None if it is about some rows or expressions, or compares text in another
        /// way than by its bytes.
        let columns: Set<String>
        /// All names that a row's key may depend on.
        let names: Set<String>
    }

    /// - Returns: `nil` for what is no table with rows of its own.
    init?(_ table: String, in db: Database) throws {
        let listed = try Row.fetchOne(
            db,
            sql: """
                SELECT l.wr, m.sql FROM pragma_table_list AS l JOIN main.sqlite_schema AS m
                    ON m.type = 'table' AND m.name = l.name
                WHERE l.schema = 'main' AND l.type = 'table' AND l.name = ? COLLATE NOCASE
                """,
            arguments: [table]
        )
        guard let listed else { return nil }
        let columns = try Row.fetchAll(
            db,
            sql: """
                SELECT name, type, pk, hidden, "notnull" FROM pragma_table_xinfo(?, 'main')
                """,
            arguments: [table]
        )
        types = Dictionary(
            columns.map { (($0[0] as String).foldedName, ($0[1] as String).uppercased()) }
        ) { first, _ in first }
        generated = Set(columns.filter { $0[3] > 1 }.map { ($0[0] as String).foldedName })
        required = Set(columns.filter { $0[4] }.map { ($0[0] as String).foldedName })
        let tokens = SQLTokens(listed[1]).tokens
        isAutoincrement = tokens.contains { $0.isWord("AUTOINCREMENT") }
        hasCollation = tokens.contains { $0.isWord("COLLATE") }
        rules = Self.rules(tokens)

        let indexes = try Row.fetchAll(
            db,
            sql: """
                SELECT l.name, l.origin, l.partial, m.sql,
                    json_group_array(coalesce(i.name, '')), max(i.coll <> 'BINARY')
                FROM pragma_index_list(?1, 'main') AS l, pragma_index_xinfo(l.name, 'main') AS i
                    LEFT JOIN main.sqlite_schema AS m ON m.type = 'index' AND m.name = l.name
                WHERE l."unique" AND i.key GROUP BY l.name
                """,
            arguments: [table]
        )
        let own = columns.map {
            (name: ($0[0] as String).foldedName, type: $0[1] as String, pk: $0[2] as Int)
        }
        let primary = own.filter { $0.pk > 0 }
        let isWithoutRowID: Bool = listed[0]
        let hasOwnIndex = indexes.contains { $0[1] == "pk" }
        rowid = primary.count == 1 && !isWithoutRowID && !hasOwnIndex ? primary[0].name : nil
        let names = Set(["rowid", "oid", "_rowid_"]).subtracting(own.map(\.name))
        rowidNames = isWithoutRowID ? [] : names.union(rowid.map { [$0] } ?? [])
        let generated = generated
        keys = try indexes.map { index in
            let list = try JSONDecoder().decode(
                [String].self,
                from: Data((index[4] as String).utf8)
            )
            .map(\.foldedName)
            let text = (index[3] as String?).map {
                SQLTokens($0).tokens.filter(\.isName).map(\.name)
            }
            let isPlain = !list.contains("") && !(index[2] as Bool) && !(index[5] as Bool)
            let names = Set(list + (text ?? []))
            return Key(
                columns: isPlain && generated.isDisjoint(with: list) ? Set(list) : [],
                names: names
            )
        }
    }

    /// The rules of `UNIQUE` and `PRIMARY KEY`. Those of `NOT NULL` are about each row by itself.
    private static func rules(_ tokens: [SQLTokens.Token]) -> Set<String> {
        let constraints = ["UNIQUE", "PRIMARY", "NULL", "CHECK"]
        return tokens.indices.dropLast().reduce(into: []) { rules, place in
            let rule = tokens[place + 1].keyword ?? ""
            guard tokens[place].isWord("CONFLICT"), ["IGNORE", "REPLACE"].contains(rule) else {
                return
            }
            let constraint = tokens[..<place].last { token in
                token.depth == tokens[place].depth && constraints.contains(where: token.isWord)
            }
            if ["UNIQUE", "PRIMARY"].contains(constraint?.keyword ?? "") { rules.insert(rule) }
        }
    }

    /// Whether different values of another table's column stay different in a column of this one.
    ///
    /// - Parameters:
    ///   - column: Its folded name.
    ///   - source: The folded name of the other table's column, or one of its rowid.
    func keepsApart(_ column: String, from source: String, of other: TableShape) -> Bool {
        guard let type = types[column] else { return false }
        if other.rowidNames.contains(source) {
            // Large whole numbers may become the same one.
            let isReal = ["REAL", "FLOA", "DOUB"].contains(where: type.contains)
            return !isReal || type.contains("INT")
        }
        // Only in a STRICT table, ANY keeps values as they are.
        return !hasCollation && type != "ANY" && other.types[source] == type
    }

    /// Whether a change of columns may change a unique key.
    ///
    /// - Parameter columns: Their folded names; `nil` if they can't be told.
    func hasKey(changedBy columns: Set<String>?) -> Bool {
        guard let columns else { return true }
        return !rowidNames.isDisjoint(with: columns)
            || keys.contains { key in
                !key.names.isDisjoint(with: columns) || !key.names.isDisjoint(with: generated)
            }
    }
}
