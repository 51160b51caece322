import Foundation
import GRDB
import GRDBSQLite
import MigrationKit
import MigrationKitSchema

/// A database in memory, on which migrations are run and watched.
///
/// Its authorizer takes the place of GRDB's, so GRDB only reads here. A closure of an app never
/// runs on it: see ``TracedClosure``.
final class ScratchDatabase {
    private let queue: DatabaseQueue
    private let configuration: Configuration
    private let reader: SchemaReader
    private let standIns: StandIns
    private let watch = StatementWatch()

    /// Creates an empty database.
    ///
    /// - Parameters:
    ///   - configuration: The app's configuration, with its functions and collations.
    ///   - reader: What all scratch databases of a check read schemas with.
    /// - Throws: What `prepareDatabase` of the configuration throws.
    convenience init(_ configuration: Configuration, reader: SchemaReader) throws {
        try self.init(configuration, reader: reader, StandIns())
    }

    private init(
        _ configuration: Configuration,
        reader: SchemaReader,
        _ standIns: StandIns
    ) throws {
        self.configuration = configuration
        self.reader = reader
        self.standIns = standIns
        queue = try Self.queue(configuration)
        queue.inDatabase { db in
            watch.begin(on: db)
            standIns.register(on: db)
            _enableDoubleQuotedStringLiterals(db.sqliteConnection)
        }
    }

    deinit {
        queue.inDatabase { watch.end(on: $0) }
        try? queue.close()
    }

    /// A database in memory that bears transactions which begin and end in different calls.
    static func queue(_ configuration: Configuration) throws -> DatabaseQueue {
        var configuration = configuration
        configuration.allowsUnsafeTransactions = true
        configuration.readonly = false
        return try DatabaseQueue(configuration: configuration)
    }

    /// The same content in another database.
    func copy() throws -> ScratchDatabase {
        let copy = try ScratchDatabase(configuration, reader: reader, standIns)
        try queue.backup(to: copy.queue)
        return copy
    }

    /// The same content on a connection on which an app's closure may run.
    func plainCopy() throws -> DatabaseQueue {
        let copy = try Self.queue(configuration)
        try queue.backup(to: copy)
        return copy
    }

    /// Takes over the content of another database.
    func replaceContent(with other: DatabaseQueue) throws {
        try other.backup(to: queue)
    }

    /// Reads with GRDB.
    func read<Value>(_ body: (Database) throws -> Value) rethrows -> Value {
        try queue.inDatabase(body)
    }

    /// The schema as it is now.
    func schema() throws -> SchemaModel {
        try queue.inDatabase(reader.schema)
    }

    /// How many rows tables have; those that can't be counted are left out.
    func rowCounts(of tables: some Sequence<String>) -> [String: Int] {
        queue.inDatabase { db in
            tables.reduce(into: [:]) { counts, table in
                let name = GRDBMigrationSQLHelpers.quoted(table)
                counts[table] = try? Int.fetchOne(db, sql: "SELECT count(*) FROM main.\(name)")
            }
        }
    }

    /// How many rows of a table lack their parent; 0 if SQLite can't check it.
    func orphanCount(in table: String) -> Int {
        let count = read { db in
            try? Int.fetchOne(
                db,
                sql: "SELECT count(*) FROM pragma_foreign_key_check(?)",
                arguments: [table]
            )
        }
        return count ?? 0
    }

    /// The same for each table that has such rows.
    func orphanCounts() -> [String: Int] {
        let rows = read { db in
            try? Row.fetchAll(
                db,
                sql: "SELECT \"table\", count(*) FROM pragma_foreign_key_check GROUP BY 1"
            )
        }
        return (rows ?? []).reduce(into: [:]) { $0[$1[0]] = $1[1] }
    }

    /// The values of each column of a table; `nil` if it can't be read.
    func values(of table: SchemaModel.Table) -> ColumnValues? {
        let columns = table.columns.filter { !$0.isHidden }
        let list = columns.map {
            "CAST(\(GRDBMigrationSQLHelpers.quoted($0.name)) AS TEXT)"
        }.joined(separator: ", ")
        let name = GRDBMigrationSQLHelpers.quoted(table.name)
        let rows = queue.inDatabase { db in
            try? Row.fetchAll(db, sql: "SELECT \(list) FROM main.\(name) LIMIT 50")
        }
        guard let rows else { return nil }
        var values: ColumnValues = [:]
        for (place, column) in columns.enumerated() {
            values[column.name.foldedName] = rows.map { ($0[place] as String?) ?? "" }.sorted()
        }
        return values
    }

    // MARK: - Running Statements

    /// Begins a step: everything until the next call shares its budget.
    func beginStep(_ budget: StepBudget) {
        watch.begin(budget)
    }

    /// The state of the connection that a migration can change.
    func settings() throws -> ConnectionSettings {
        try queue.inDatabase { try ConnectionSettings.withinTransaction(of: $0) }
    }

    /// Undoes what a migration has changed of it.
    func putBack(_ settings: ConnectionSettings) {
        queue.inDatabase { db in
            settings.putBack(on: db)
            try? settings.dropNewTemporaryObjects(on: db)
        }
    }

    /// Runs SQL without watching it.
    ///
    /// - Returns: Whether SQLite accepted it.
    @discardableResult
    func execute(_ sql: String) -> Bool {
        queue.inDatabase { sqlite3_exec($0.sqliteConnection, sql, nil, nil, nil) == SQLITE_OK }
    }

    /// Compiles a statement without running it.
    ///
    /// - Returns: What SQLite says about it; `nil` if it accepts it.
    func compile(_ sql: String) -> StatementFailure? {
        queue.inDatabase { Self.compile(sql, on: $0) }
    }

    private static func compile(_ sql: String, on db: Database) -> StatementFailure? {
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v2(db.sqliteConnection, sql, -1, &statement, nil)
        defer { sqlite3_finalize(statement) }
        return code == SQLITE_OK ? nil : StatementFailure(db, code)
    }

    /// Runs a statement to its end, and discards its rows.
    ///
    /// - Parameter sql: One statement. If there are more, they are run too.
    /// - Returns: What it does, and how it fails.
    func run(_ sql: String) -> StatementResult {
        let takesNameForString =
            !configuration.acceptsDoubleQuotedStringLiterals && sql.contains("\"")
            && needsDoubleQuotedStrings(sql)
        while true {
            let (actions, failure) = runOnce(sql)
            // The check goes on with something in the place of what only the app has.
            if let lack = failure?.lack, queue.inDatabase({ standIns.add(lack, on: $0) }) {
                continue
            }
            return StatementResult(
                actions: actions,
                failure: failure,
                standIns: standIns.used(in: actions, sql),
                takesNameForString: takesNameForString
            )
        }
    }

    /// Whether SQLite compiles a statement only if it may take a name in double quotes for a string.
    /// Scratch databases let it, and go on. <https://www.sqlite.org/quirks.html#dblquote>
    private func needsDoubleQuotedStrings(_ sql: String) -> Bool {
        queue.inDatabase { db in
            _disableDoubleQuotedStringLiterals(db.sqliteConnection)
            let strict = Self.compile(sql, on: db)
            _enableDoubleQuotedStringLiterals(db.sqliteConnection)
            return strict?.message.hasPrefix("no such column") ?? false
                && Self.compile(sql, on: db) == nil
        }
    }

    private func runOnce(_ sql: String) -> ([StatementAction], StatementFailure?) {
        queue.inDatabase { db in
            watch.actions = []
            watch.isRecording = true
            defer { watch.isRecording = false }
            let failure = sql.withCString { text -> StatementFailure? in
                var rest: UnsafePointer<CChar>? = text
                while let position = rest, position.pointee != 0 {
                    if let failure = Self.runFirst(position, tail: &rest, on: db) {
                        return failure
                    }
                }
                return nil
            }
            return (watch.actions, failure)
        }
    }

    private static func runFirst(
        _ text: UnsafePointer<CChar>,
        tail: inout UnsafePointer<CChar>?,
        on db: Database
    ) -> StatementFailure? {
        var statement: OpaquePointer?
        var code = sqlite3_prepare_v2(db.sqliteConnection, text, -1, &statement, &tail)
        defer { sqlite3_finalize(statement) }
        guard code == SQLITE_OK else { return StatementFailure(db, code) }
        guard sqlite3_bind_parameter_count(statement) == 0 else {
            return StatementFailure(
                code: .SQLITE_ERROR,
                message: "a migration has no values to bind to parameters"
            )
        }
        guard statement != nil else { return nil }
        repeat { code = sqlite3_step(statement) } while code == SQLITE_ROW
        return code == SQLITE_DONE ? nil : StatementFailure(db, code)
    }

    /// Whether a transaction is open. SQLite itself ends one after some errors.
    var isInTransaction: Bool {
        queue.inDatabase { sqlite3_get_autocommit($0.sqliteConnection) == 0 }
    }
}

/// The sorted values of a table's columns, by name in lower case. They never leave a check.
typealias ColumnValues = [String: [String]]

/// What running a statement shows.
struct StatementResult {
    /// What it does, as SQLite reports it when it compiles the statement.
    var actions: [StatementAction]
    let failure: StatementFailure?
    /// What only the app has, and was replaced.
    let standIns: [SchemaNeed]
    /// Whether it has a name in double quotes that only a connection which accepts double-quoted
    /// strings takes.
    let takesNameForString: Bool
}

/// How SQLite refused a statement.
struct StatementFailure {
    /// SQLite's extended result code.
    let code: ResultCode

    /// SQLite's message. It may contain a literal of the statement.
    let message: String

    init(code: ResultCode, message: String) {
        self.code = code
        self.message = message
    }

    /// What the statement itself needs and only the app's connections have.
    var lack: SchemaNeed? {
        message.hasPrefix("no such ") || message.hasPrefix("unknown ") ? SchemaNeed(message) : nil
    }

    /// The table that it names and that doesn't exist.
    var missingTable: String? {
        let prefix = "no such table: "
        guard message.hasPrefix(prefix) else { return nil }
        let name = message.dropFirst(prefix.count)
        return String(name.hasPrefix("main.") ? name.dropFirst(5) : name)
    }

    fileprivate init(_ db: Database, _ code: Int32) {
        self.code = ResultCode(rawValue: sqlite3_extended_errcode(db.sqliteConnection))
        message = sqlite3_errmsg(db.sqliteConnection).map { String(cString: $0) } ?? "\(code)"
    }
}

/// What takes the place of functions and collations that only the app has: a function returns its
/// first argument, and a collation compares bytes.
private final class StandIns {
    private var functions: Set<String> = []
    private var collations: Set<String> = []

    /// - Returns: Whether there can be one, and wasn't.
    func add(_ lack: SchemaNeed, on db: Database) -> Bool {
        switch lack {
        case .function(let name):
            guard functions.insert(name.foldedName).inserted else { return false }
        case .collation(let name):
            guard collations.insert(name.foldedName).inserted else { return false }
        case .module, .tokenizer: return false
        }
        register(on: db)
        return true
    }

    func register(on db: Database) {
        for name in functions { SchemaNeed.function(name).addStandIn(to: db) }
        for name in collations { SchemaNeed.collation(name).addStandIn(to: db) }
    }

    /// Those that a statement uses.
    func used(in actions: [StatementAction], _ sql: String) -> [SchemaNeed] {
        let called = Set(
            actions.filter { $0.kind == .function }.compactMap { $0.detail?.foldedName }
        )
        let text = collations.isEmpty ? "" : sql.lowercased()
        return called.intersection(functions).sorted().map(SchemaNeed.function)
            + collations.filter(text.contains).sorted().map(SchemaNeed.collation)
    }
}

// MARK: - Statement Action

/// Something that a statement does, as SQLite's authorizer reports it while it compiles it.
/// <https://www.sqlite.org/c3ref/c_alter_table.html>
struct StatementAction: Equatable {
    enum Kind: Equatable {
        case insert, update, delete, read
        case create, drop, alter
        case pragma, function, attach, transaction
        case other
    }

    let kind: Kind
    /// The table, or the first name: that of the object, the pragma or the database.
    let name: String
    /// The column that is read or updated; the value of a pragma; the function.
    let detail: String?
    /// `main` or `temp`.
    let database: String?
    /// The innermost trigger or view that causes it; `nil` if the statement itself does. A cascade
    /// of a foreign key has none.
    let cause: String?
}

/// What the connection's callbacks need.
private final class StatementWatch {
    var actions: [StatementAction] = []
    var isRecording = false
    private var meter: StepMeter?

    func begin(on db: Database) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        sqlite3_set_authorizer(
            db.sqliteConnection,
            { context, code, first, second, database, cause in
                guard let context else { return SQLITE_OK }
                return Unmanaged<StatementWatch>.fromOpaque(context).takeUnretainedValue()
                    .authorize(code, first, second, database, cause)
            },
            context
        )
        sqlite3_progress_handler(
            db.sqliteConnection,
            StepBudget.instructions,
            { context in
                guard let context else { return 0 }
                let watch = Unmanaged<StatementWatch>.fromOpaque(context).takeUnretainedValue()
                return watch.isOver ? 1 : 0
            },
            context
        )
    }

    func end(on db: Database) {
        sqlite3_set_authorizer(db.sqliteConnection, nil, nil)
        sqlite3_progress_handler(db.sqliteConnection, 0, nil, nil)
    }

    func begin(_ budget: StepBudget) { meter = StepMeter(budget) }

    /// Asked after each ``StepBudget/instructions``.
    private var isOver: Bool { isRecording && meter?.isOver() ?? false }

    private func authorize(
        _ code: Int32,
        _ first: UnsafePointer<CChar>?,
        _ second: UnsafePointer<CChar>?,
        _ database: UnsafePointer<CChar>?,
        _ cause: UnsafePointer<CChar>?
    ) -> Int32 {
        // A check never touches a file. VACUUM attaches a database with an empty name; a name that is
        // an expression isn't known here.
        if code == SQLITE_ATTACH, first?.pointee != 0 { return SQLITE_DENY }
        // SQLCipher appends to the file that `cipher_log` names.
        if code == SQLITE_PRAGMA, let first, sqlite3_strnicmp(first, "cipher", 6) == 0 {
            return SQLITE_DENY
        }
        guard isRecording else { return SQLITE_OK }
        let action = StatementAction(
            kind: StatementAction.Kind(code),
            name: first.map { String(cString: $0) } ?? "",
            detail: second.map { String(cString: $0) },
            database: database.map { String(cString: $0) },
            cause: cause.map { String(cString: $0) }
        )
        if actions.last != action { actions.append(action) }
        return SQLITE_OK
    }
}

extension StatementAction.Kind {
    fileprivate init(_ code: Int32) {
        switch code {
        case SQLITE_INSERT: self = .insert
        case SQLITE_UPDATE: self = .update
        case SQLITE_DELETE: self = .delete
        case SQLITE_READ: self = .read
        case SQLITE_CREATE_TABLE, SQLITE_CREATE_TEMP_TABLE, SQLITE_CREATE_VTABLE,
            SQLITE_CREATE_INDEX, SQLITE_CREATE_TEMP_INDEX, SQLITE_CREATE_TRIGGER,
            SQLITE_CREATE_TEMP_TRIGGER, SQLITE_CREATE_VIEW, SQLITE_CREATE_TEMP_VIEW:
            self = .create
        case SQLITE_DROP_TABLE, SQLITE_DROP_TEMP_TABLE, SQLITE_DROP_VTABLE, SQLITE_DROP_INDEX,
            SQLITE_DROP_TEMP_INDEX, SQLITE_DROP_TRIGGER, SQLITE_DROP_TEMP_TRIGGER,
            SQLITE_DROP_VIEW, SQLITE_DROP_TEMP_VIEW:
            self = .drop
        case SQLITE_ALTER_TABLE: self = .alter
        case SQLITE_PRAGMA: self = .pragma
        case SQLITE_FUNCTION: self = .function
        case SQLITE_ATTACH, SQLITE_DETACH: self = .attach
        case SQLITE_TRANSACTION, SQLITE_SAVEPOINT: self = .transaction
        default: self = .other
        }
    }
}
