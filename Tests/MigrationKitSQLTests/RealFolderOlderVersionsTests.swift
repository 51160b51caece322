import Foundation
import GRDB
import MigrationKit
import MigrationKitGRDB
import MigrationKitKeys
import MigrationKitSQL
import MigrationKitSQLCipher
import TestSupport
import Testing

/// Holds what the runner says of each migration of real projects against SQLite: what a version before
/// it reads and writes is run on the store without the migration and on the one with it.
///
/// `TESTS_FOLDERS` names a folder that has folders of migrations. They aren't part of this
/// project. Prints what came out.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["TESTS_FOLDERS"] != nil))
struct RealFolderOlderVersionsTests {
    private struct Tally {
        var folders = 0
        var steps = 0
        var works = 0
        var breaks = 0
        var notJudged = 0
        /// Statements that were compared.
        var statements = 0
        /// Steps that SQLite refuses in a store of generated rows.
        var refused: [String] = []
        /// Said to work, and a statement gives something else.
        var wrong: [String] = []
        /// Said to break, and every statement gives the same: by their reasons without names.
        var needless: [String: Int] = [:]
    }

    @Test func olderVersionsWorkWithWhatIsSaidToWork() throws {
        let root = try #require(ProcessInfo.processInfo.environment["TESTS_FOLDERS"])
        var tally = Tally()
        for name in try FileManager.default.contentsOfDirectory(atPath: root).sorted() {
            guard let folder = try? MigrationFolder(path: "\(root)/\(name)") else { continue }
            try check(folder, name, &tally)
        }
        print(
            """
            \(tally.folders) folders, \(tally.steps) steps, \(tally.statements) statements
            \(tally.works) work, \(tally.breaks) break, \(tally.notJudged) not judged
            \(tally.wrong.count) wrongly said to work
            \(tally.needless.values.reduce(0, +)) needlessly said to break:
            \(tally.needless.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
                .map { "  \($0.value) \($0.key)" }.joined(separator: "\n"))
            \(tally.refused.count) steps refused: \(tally.refused.joined(separator: "; "))
            """
        )
        for wrong in tally.wrong { Issue.record(Comment(rawValue: wrong)) }
    }

    private func check(_ folder: MigrationFolder, _ name: String, _ tally: inout Tally) throws {
        let store = try Store()
        var applied: [MigrationStep<Database>] = []
        for (index, step) in folder.steps.enumerated() {
            let title = "\(name)/\(step.identifier)"
            try store.copy("store.db", to: "before.db")
            let older: OlderVersions?
            do {
                let runner = try GRDBMigrationRunner(
                    steps: applied + [step],
                    enforceLexicographicOrder: false
                )
                older = try store.withDatabase("store.db") {
                    try runner.migrate(in: $0).steps.last?.older
                }
            } catch {
                tally.refused.append("\(title): \(error)".prefix(160).description)
                continue
            }
            applied.append(step)
            var random = SeededGenerator(seed: SeededGenerator.seed &+ UInt64(index))
            if applied.count > 1 {
                let differences = try differences(in: store, &random, &tally.statements)
                switch older {
                case .work?:
                    if let first = differences.first { tally.wrong.append("\(title): \(first)") }
                case .fail(let reasons)?:
                    if differences.isEmpty {
                        let plain = reasons.map { $0.replacing(/'[^']*'/, with: "…") }
                        for reason in Set(plain) { tally.needless[reason, default: 0] += 1 }
                    }
                case nil: break
                }
            }
            switch older {
            case .work?: tally.works += 1
            case .fail?: tally.breaks += 1
            case nil: tally.notJudged += 1
            }
            try store.withDatabase("store.db") { queue in
                try queue.writeWithoutTransaction { db in
                    for _ in 0..<2 { try RowMaker(db, &random).fill() }
                }
            }
        }
        tally.folders += applied.isEmpty ? 0 : 1
        tally.steps += applied.count
    }

    /// Where the statements of the version before give something else.
    private func differences(
        in store: Store,
        _ random: inout SeededGenerator,
        _ count: inout Int
    ) throws -> [String] {
        try store.copy("store.db", to: "after.db")
        return try store.withDatabase("before.db") { before in
            try store.withDatabase("after.db") { after in
                let known = try before.read(RowMaker.tables(of:))
                // Rows of the newer version in what is new may refer to those that were there.
                try after.writeWithoutTransaction { db in
                    try RowMaker(db, &random).fill(except: known)
                }
                let touched = try Self.objects(before).symmetricDifference(Self.objects(after))
                let corpus = try before.writeWithoutTransaction { db in
                    try RowMaker(db, &random).corpus(first: touched.joined(separator: " "))
                }
                // Rows that the step adds are no change for a version before it.
                let reads = Set(corpus.flatMap { [$0.statement] + $0.reads })
                let adds = try reads.contains { statement in
                    guard statement.hasPrefix("SELECT") else { return false }
                    let rows = try [before, after].map { try Self.run(statement, [], $0)[0] }
                    return rows[0] != rows[1] && Set(rows[0]).isSubset(of: rows[1])
                }
                // A change of a key to which rows refer that only the newer version has isn't judged.
                let keyChanges = try Self.referredKeys(after)
                    .subtracting(Self.referredKeys(before)).map(\.change)
                var differences: [String] = []
                // They may have the key that is inserted or set.
                for (statement, all) in corpus where !adds || !Self.choosesValues(statement) {
                    if keyChanges.contains(where: statement.lowercased().hasPrefix),
                        !statement.hasSuffix("IS NOT NULL")
                    {
                        continue
                    }
                    count += 1
                    let reads = adds ? [] : all
                    let results = try [before, after].map { try Self.run(statement, reads, $0) }
                    guard results[0] != results[1] else { continue }
                    let refusals = results.map { $0[0] == Self.refusal }
                    let isKept = Set(results[0][0]).isSubset(of: results[1][0])
                    if adds, isKept, refusals[0] == refusals[1] { continue }
                    // What depends on the time, or on chance.
                    let again = try (0..<2).map { _ in
                        try [before, after].map { try Self.run(statement, reads, $0) }
                    }
                    guard again.allSatisfy({ $0[0] != $0[1] }), again[0][0] == again[1][0] else {
                        continue
                    }
                    let place = zip(results[0], results[1]).first { $0 != $1 }
                    differences.append("\(statement): \(String(describing: place))")
                }
                return differences
            }
        }
    }

    /// A column to which a foreign key refers that doesn't follow its changes.
    private struct ReferredKey: Hashable, Decodable, FetchableRecord {
        let child: String
        let parent: String
        let column: String

        /// How a statement of ``RowMaker`` begins that changes it.
        var change: String {
            let names = [parent, column].map { $0.lowercased().quotedDatabaseIdentifier }
            return "update \(names[0]) set \(names[1]) = "
        }
    }

    private static func referredKeys(_ queue: DatabaseQueue) throws -> Set<ReferredKey> {
        try queue.read {
            try ReferredKey.fetchSet(
                $0,
                sql: """
                    SELECT child.name AS child, key."table" AS parent, ifnull(
                      key."to",
                      (SELECT name FROM pragma_table_info(key."table") WHERE pk = key.seq + 1)
                    ) AS "column"
                    FROM sqlite_schema AS child, pragma_foreign_key_list(child.name) AS key
                    WHERE child.type = 'table' AND key.on_update IN ('NO ACTION', 'RESTRICT')
                    AND "column" IS NOT NULL
                    """
            )
        }
    }

    private static let refusal = ["refused"]

    private static func choosesValues(_ statement: String) -> Bool {
        statement.hasPrefix("INSERT") || statement.hasPrefix("UPDATE")
    }

    private static func objects(_ queue: DatabaseQueue) throws -> Set<String> {
        try queue.read {
            try String.fetchSet(
                $0,
                sql: "SELECT tbl_name || ' ' || ifnull(sql, '') FROM sqlite_schema"
            )
        }
    }

    /// What a statement gives, and what is read after it; undone.
    private static func run(_ statement: String, _ reads: [String], _ queue: DatabaseQueue) throws
        -> [[String]]
    {
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "BEGIN")
            defer { try? db.execute(sql: "ROLLBACK") }
            func result(_ sql: String) -> [String] {
                do {
                    let rows = try Row.fetchAll(db, sql: sql)
                    return rows.map { "\(Array($0.databaseValues))" }.sorted()
                } catch {
                    return Self.refusal
                }
            }
            let first = result(statement)
            return [first] + reads.map(result)
        }
    }
}

/// Encrypted files of a folder's own.
private struct Store {
    private let folder: TemporaryFolder
    private let key: DatabaseKey

    init() throws {
        folder = try TemporaryFolder()
        let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
        key = try .rawKey(bytes: bytes.withUnsafeBytes { Secret(copying: $0) })
        try withDatabase("store.db") {
            try $0.write { try $0.execute(sql: "PRAGMA user_version = 0") }
        }
    }

    func copy(_ name: String, to other: String) throws {
        let path = folder.path(other)
        try? FileManager.default.removeItem(atPath: path)
        try FileManager.default.copyItem(atPath: folder.path(name), toPath: path)
    }

    func withDatabase<Value>(_ name: String, _ body: (DatabaseQueue) throws -> Value) throws
        -> Value
    {
        var configuration = EncryptedDatabase.configuration(key: key)
        configuration.acceptsDoubleQuotedStringLiterals = true
        configuration.allowsUnsafeTransactions = true
        configuration.prepareDatabase { $0.add(function: .uuid) }
        let queue = try DatabaseQueue(path: folder.path(name), configuration: configuration)
        defer { try? queue.close() }
        return try body(queue)
    }
}

/// Makes rows that a schema accepts, and the statements of a program that knows it.
private struct RowMaker {
    private struct Column {
        let name: String
        let type: String
        let isRequired: Bool
        let isStored: Bool
        let keyPlace: Int
        let parent: (table: String, column: String?)?
    }

    private struct Table {
        let name: String
        let isView: Bool
        let columns: [Column]
        /// The strings and numbers in its definition, such as those of a `CHECK`.
        let literals: [String]

        var stored: [Column] { columns.filter(\.isStored) }

        /// A name in double quotes that nothing has would be a string.
        var select: String {
            let name = name.quotedDatabaseIdentifier
            let all = columns.map { "\(name).\($0.name.quotedDatabaseIdentifier)" }
            return "SELECT \(all.joined(separator: ", ")) FROM \(name)"
        }
    }

    private let db: Database
    private let tables: [Table]
    private var random: SeededGenerator

    init(_ db: Database, _ random: inout SeededGenerator) throws {
        self.db = db
        self.random = SeededGenerator(seed: random.next())
        tables = try Self.tables(of: db).sorted().map { name in
            let row = try Row.fetchOne(
                db,
                sql: "SELECT type, sql FROM sqlite_schema WHERE name = ?",
                arguments: [name]
            )
            let sql: String = row?[1] ?? ""
            let parents = try Row.fetchAll(
                db,
                sql: "PRAGMA foreign_key_list(\(name.quotedDatabaseIdentifier))"
            )
            let isView = row?[0] == "view"
            // A view may name what is gone.
            let columns = try? Row.fetchAll(
                db,
                sql: "PRAGMA table_xinfo(\(name.quotedDatabaseIdentifier))"
            )
            return Table(
                name: name,
                isView: isView,
                columns: (columns ?? []).map { column in
                    let name: String = column["name"]
                    let parent = parents.first {
                        ($0["from"] as String).lowercased() == name.lowercased()
                    }
                    return Column(
                        name: name,
                        type: (column["type"] as String).uppercased(),
                        isRequired: column["notnull"] == 1 && column["dflt_value"] == nil,
                        isStored: column["hidden"] == 0,
                        keyPlace: column["pk"],
                        parent: parent.map { ($0["table"], $0["to"]) }
                    )
                },
                literals: sql.matches(of: /'[^']*'|\b[0-9]+\b/).map { String($0.output) }
            )
        }
    }

    /// Tables and views of the app; no virtual ones, and nothing that those have.
    static func tables(of db: Database) throws -> Set<String> {
        try String.fetchSet(
            db,
            sql: """
                SELECT name FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'view')
                AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE 'grdb\\_%' ESCAPE '\\'
                """
        )
    }

    /// Adds a few rows to each table.
    func fill(except known: Set<String> = []) throws {
        var maker = self
        for _ in 0..<2 {
            for table in tables where !table.isView && !known.contains(table.name) {
                for _ in 0..<2 {
                    for _ in 0..<6 {
                        let sql = try maker.insert(table, into: table.stored)
                        if (try? db.execute(sql: sql)) != nil { break }
                    }
                }
            }
        }
    }

    private mutating func insert(_ table: Table, into columns: [Column]) throws -> String {
        guard !columns.isEmpty else {
            return "INSERT INTO \(table.name.quotedDatabaseIdentifier) DEFAULT VALUES"
        }
        let names = columns.map(\.name.quotedDatabaseIdentifier).joined(separator: ", ")
        let values = try columns.map { try value(of: $0, table) }.joined(separator: ", ")
        return "INSERT INTO \(table.name.quotedDatabaseIdentifier) (\(names)) VALUES (\(values))"
    }

    private mutating func value(of column: Column, _ table: Table) throws -> String {
        if let parent = column.parent {
            let name = parent.column?.quotedDatabaseIdentifier ?? "rowid"
            let found = try? String.fetchAll(
                db,
                sql: "SELECT quote(\(name)) FROM \(parent.table.quotedDatabaseIdentifier) LIMIT 5"
            )
            if let one = found?.randomElement(using: &random) { return one }
        }
        if !column.isRequired, column.keyPlace == 0, Int.random(in: 0..<5, using: &random) == 0 {
            return "NULL"
        }
        let number = Int.random(in: 1..<1_000_000, using: &random)
        let small = Int.random(in: 0..<2, using: &random)
        if column.keyPlace == 0, let literal = table.literals.randomElement(using: &random),
            Int.random(in: 0..<3, using: &random) == 0
        {
            return literal
        }
        switch column.type {
        case let type where type.contains("INT") || type.contains("BOOL"):
            return column.keyPlace == 0 && Bool.random(using: &random) ? "\(small)" : "\(number)"
        case let type where type.contains("BLOB"):
            return "x'\(String(number + 0x100000, radix: 16))'"
        case let type where type.contains("REAL") || type.contains("FLOA"): return "\(number).5"
        case let type where type.contains("DATE") || type.contains("TIME"):
            return "'2024-01-0\(1 + number % 9) 00:00:00'"
        default: return "'text \(number)'"
        }
    }

    /// What the program reads and writes, all columns by name, and what it reads afterwards.
    ///
    /// - Parameter text: The tables that it names come first; only some of the others are tried.
    func corpus(first text: String) throws -> [(statement: String, reads: [String])] {
        var maker = self
        var corpus: [(String, [String])] = []
        let named = tables.filter { text.contains($0.name) }
        let others = tables.filter { !text.contains($0.name) }.shuffled(using: &maker.random)
        for table in named + others.prefix(8) where !table.columns.isEmpty {
            let name = table.name.quotedDatabaseIdentifier
            let reads = [table.select] + (try related(to: table).map(\.select))
            corpus.append((table.select, []))
            guard !table.isView else { continue }
            var writes = try (0..<3).map { _ in try maker.insert(table, into: table.stored) }
            let required = table.stored.filter { $0.isRequired || $0.keyPlace > 0 }
            writes.append(try maker.insert(table, into: required))
            for column in table.stored {
                let value = try maker.value(of: column, table)
                let old = column.name.quotedDatabaseIdentifier
                writes.append("UPDATE \(name) SET \(old) = \(value)")
                writes.append("UPDATE \(name) SET \(old) = \(old) WHERE \(old) IS NOT NULL")
            }
            let first = table.stored.first?.name.quotedDatabaseIdentifier ?? "1"
            writes.append("DELETE FROM \(name)")
            let keys = try String.fetchAll(db, sql: "SELECT quote(\(first)) FROM \(name) LIMIT 3")
            writes += keys.map { "DELETE FROM \(name) WHERE \(first) = \($0)" }
            corpus += writes.map { ($0, reads) }
        }
        return corpus
    }

    /// Those that a change of a table may reach: with foreign keys, triggers or as views.
    private func related(to table: Table) throws -> [Table] {
        let texts = try String.fetchAll(
            db,
            sql: "SELECT tbl_name || ' ' || sql FROM sqlite_schema WHERE instr(sql, ?) > 0",
            arguments: [table.name]
        )
        .joined(separator: " ")
        return tables.filter { other in
            other.name != table.name && !other.columns.isEmpty && texts.contains(other.name)
        }
    }
}
