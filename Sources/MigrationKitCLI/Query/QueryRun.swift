import MigrationKitSQLCipher

/// Runs the SQL of `query`, and prints its rows.
final class QueryRun {
    private let sql: String
    private let bindings: [String: QueryStatement.Value]
    private let output: QueryOutput
    private var format: any RowFormat
    private var hasBegun = false
    private var usedNames: Set<String> = []

    /// The rows that the statements have changed themselves.
    private(set) var changes = 0

    /// The rows that triggers and foreign keys have changed beside these.
    private(set) var indirectChanges = 0

    init(
        _ sql: String,
        _ bindings: [String: QueryStatement.Value],
        _ format: any RowFormat,
        to output: QueryOutput
    ) {
        self.sql = sql
        self.bindings = bindings
        self.format = format
        self.output = output
    }

    /// Runs the only statement, which changes nothing.
    func read(in session: QuerySession) throws {
        var next = 0
        guard let statement = try prepare(&next, in: session) else { throw CommandError.noSQL }
        do {
            guard try prepare(&next, in: session) == nil else {
                throw CommandError.severalStatements
            }
        } catch is QueryError {
            throw CommandError.severalStatements
        }
        try bind(statement)
        try checkNames()
        try print(statement) { !output.isLost }
    }

    /// Runs all statements, of which one may return rows.
    func change(in session: QuerySession) throws {
        let before = session.totalChanges
        var next = 0
        var count = 0
        while let statement = try prepare(&next, in: session) {
            count += 1
            try bind(statement)
            if statement.columns.isEmpty {
                while try statement.step() {}
            } else {
                guard !hasBegun else { throw CommandError.severalResults }
                // The change is made even if nobody reads the rows any more.
                try print(statement) { true }
            }
            if !statement.isReadOnly { changes += session.changes }
        }
        guard count > 0 else { throw CommandError.noSQL }
        try checkNames()
        indirectChanges = session.totalChanges - before - changes
    }

    /// Prints what comes after the rows.
    func finish() {
        guard hasBegun else { return }
        format.end(to: output)
    }

    /// Prints a result without columns, for a format that needs one.
    func beginEmpty() {
        guard !hasBegun else { return }
        format.begin([], to: output)
        hasBegun = true
    }

    // MARK: -

    /// The next statement. Empty ones are left out.
    private func prepare(_ next: inout Int, in session: QuerySession) throws -> QueryStatement? {
        let count = sql.utf8.count
        while next < count {
            let (statement, end) = try session.prepare(sql, from: next)
            next = end
            if let statement { return statement }
        }
        return nil
    }

    private func bind(_ statement: QueryStatement) throws {
        let names = statement.parameters
        usedNames.formUnion(names)
        let missing = names.filter { bindings[$0] == nil }
        guard missing.isEmpty else {
            var seen = Set<String>()
            throw CommandError.missingParameters(missing.filter { seen.insert($0).inserted })
        }
        for name in Set(names) {
            if let value = bindings[name] { try statement.bind(value, to: name) }
        }
    }

    private func checkNames() throws {
        let unknown = bindings.keys.filter { !usedNames.contains($0) }
        guard let name = unknown.min() else { return }
        throw CommandError.unknownParameter(
            name,
            nearest: nearest(to: name, among: usedNames.sorted())
        )
    }

    /// - Parameter continues: Whether to go on, asked after each row.
    private func print(_ statement: QueryStatement, while continues: () -> Bool) throws {
        // A pragma may return nothing at all.
        guard !statement.columns.isEmpty else {
            while try statement.step() {}
            return
        }
        format.begin(statement.columns, to: output)
        hasBegun = true
        while try statement.step() {
            if !output.isLost { try format.add(statement, to: output) }
            guard continues() else { return }
        }
    }
}
