import GRDB
import MigrationKitLint
import MigrationKitSQL
import MigrationKitSchema
import Testing

/// A migration between two schemas is proved before it is written. Each wrong one here is refused.
@Suite struct SchemaMigrationProofTests {
    private static let notes = """
        CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, body TEXT);
        CREATE INDEX notes_title ON notes (title);
        CREATE TABLE tag (id INTEGER PRIMARY KEY, note INTEGER REFERENCES notes (id));
        """
    private static let withStars = """
        CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, body TEXT, stars INTEGER);
        CREATE INDEX notes_title ON notes (title);
        CREATE TABLE tag (id INTEGER PRIMARY KEY, note INTEGER REFERENCES notes (id));
        """
    private static let addsStars = "ALTER TABLE notes ADD COLUMN stars INTEGER"
    private static let dropsStars = "ALTER TABLE notes DROP COLUMN stars"

    private func schema(_ sql: String) throws -> DatabaseSchema {
        let queue = try DatabaseQueue()
        return try queue.write { db in
            try db.execute(sql: sql)
            return try DatabaseSchema(of: db)
        }
    }

    private func proof(
        from: String = notes,
        to: String = withStars,
        up: [String],
        down: [String] = [dropsStars],
        notBroughtBack: [String] = [],
        hazards: [SchemaHazard] = [],
        renames: [SchemaRename] = [],
        backfilling: [String] = []
    ) throws -> SchemaMigrationProof {
        SchemaMigrationProof(
            of: SchemaMigration(
                up: up,
                down: down,
                notBroughtBack: notBroughtBack,
                hazards: hazards
            ),
            between: try SchemaDifference(
                from: schema(from),
                to: schema(to),
                renames: renames
            ),
            backfilling: backfilling
        )
    }

    private func hazard(
        _ kind: SchemaHazard.Kind,
        _ table: String,
        _ column: String? = nil
    ) -> SchemaHazard {
        SchemaHazard(kind, table: table, column: column, message: "", suggestion: "")
    }

    private func expectFault(
        _ proof: SchemaMigrationProof,
        _ stage: SchemaMigrationProofError.Stage,
        _ reason: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let error = #expect(
            throws: SchemaMigrationProofError.self,
            sourceLocation: sourceLocation
        ) {
            try proof.run()
        }
        #expect(error?.stage == stage, sourceLocation: sourceLocation)
        #expect(error?.reason == reason, sourceLocation: sourceLocation)
        #expect(error?.isRefusal == false, sourceLocation: sourceLocation)
        #expect(error?.recoverySuggestion?.contains("fault of MigrationKit") == true)
    }

    @Test func rightMigrationIsProved() throws {
        try proof(up: [Self.addsStars]).run()
    }

    /// A rebuild, with what a rebuild can forget.
    private func rebuild(_ select: String = "SELECT id, title, body FROM notes") -> [String] {
        rebuild("title TEXT, body TEXT, stars INTEGER", from: "(id, title, body) \(select)")
    }

    /// A rebuild of `notes`.
    ///
    /// - Parameters:
    ///   - columns: The definitions of the columns after `id`.
    ///   - source: What is inserted.
    private func rebuild(_ columns: String, from source: String) -> [String] {
        [
            "CREATE TABLE new (id INTEGER PRIMARY KEY, \(columns))", "INSERT INTO new \(source)",
            "DROP TABLE notes", "ALTER TABLE new RENAME TO notes",
        ]
    }

    private let index = "CREATE INDEX notes_title ON notes (title)"

    @Test func rebuildThatKeepsEverythingIsProved() throws {
        try proof(up: rebuild() + [index]).run()
    }

    @Test func lostIndexIsFound() throws {
        expectFault(
            try proof(up: rebuild()),
            .up,
            "this change is missing: index notes_title on notes: added"
        )
    }

    @Test func changedIndexIsFound() throws {
        let other = "CREATE INDEX notes_title ON notes (title DESC)"
        expectFault(
            try proof(up: rebuild() + [other]),
            .up,
            "this change is missing: index notes_title on notes: "
                + "CREATE INDEX notes_title ON notes (title DESC) -> "
                + "CREATE INDEX notes_title ON notes (title)"
        )
    }

    @Test func lostRowsAreFound() throws {
        let up = rebuild(
            "SELECT id, title, body FROM notes WHERE id <> (SELECT max(id) FROM notes)"
        )
        let orphans = try proof(up: up + [index])
        let error = #expect(throws: SchemaMigrationProofError.self) { try orphans.run() }
        #expect(error?.stage == .up)
        let alone = try proof(
            from: "CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, body TEXT)",
            to: "CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, body TEXT, stars INTEGER)",
            up: up
        )
        expectFault(alone, .up, "notes has 2 rows instead of 3")
    }

    @Test func exchangedColumnsAreFound() throws {
        expectFault(
            try proof(up: rebuild("SELECT id, body, title FROM notes") + [index]),
            .up,
            "values of notes.title have changed"
        )
    }

    @Test func changedRowIDsAreFound() throws {
        let table = "CREATE TABLE t (a TEXT)"
        let up = [
            "CREATE TABLE new (a TEXT, b TEXT)",
            "INSERT INTO new (a) SELECT a FROM t ORDER BY 1 DESC",
            "DROP TABLE t", "ALTER TABLE new RENAME TO t",
        ]
        expectFault(
            try proof(from: table, to: "CREATE TABLE t (a TEXT, b TEXT)", up: up),
            .up,
            "values of t.a have changed"
        )
    }

    @Test func wayDownThatLeavesSomethingIsFound() throws {
        expectFault(
            try proof(up: [Self.addsStars], down: ["DROP INDEX notes_title", Self.dropsStars]),
            .down,
            "this change is missing: index notes_title on notes: added"
        )
        expectFault(
            try proof(up: [Self.addsStars], down: [Self.dropsStars, "DELETE FROM tag"]),
            .down,
            "tag has 0 rows instead of 3"
        )
    }

    @Test func statementThatFailsIsFound() throws {
        let error = #expect(throws: SchemaMigrationProofError.self) {
            try proof(up: [Self.addsStars, "DROP TABLE absent"]).run()
        }
        #expect(error?.stage == .up)
        #expect(error?.reason == "it fails: no such table: absent")
        #expect(error?.isRefusal == false)
    }

    @Test func valuesOfAColumnThatAHazardNamesMayChange() throws {
        let to = "CREATE TABLE notes (id INTEGER PRIMARY KEY, body INTEGER)"
        let from = "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT)"
        let up = rebuild("body INTEGER", from: "SELECT id, CAST(body AS INTEGER) FROM notes")
        let down = rebuild("body TEXT", from: "SELECT id, CAST(body AS TEXT) FROM notes")
        expectFault(
            try proof(from: from, to: to, up: up, down: down),
            .up,
            "values of notes.body have changed"
        )
        try proof(
            from: from,
            to: to,
            up: up,
            down: down,
            hazards: [hazard(.narrowsType, "notes", "body")]
        ).run()
    }

    @Test func renamesAreFollowed() throws {
        let to = "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT)"
        let from = "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT)"
        let renames = [
            SchemaRename(table: "notes", newName: "note"),
            SchemaRename(table: "notes", column: "body", newName: "text"),
        ]
        try proof(
            from: from,
            to: to,
            up: ["ALTER TABLE notes RENAME TO note", "ALTER TABLE note RENAME body TO text"],
            down: ["ALTER TABLE note RENAME text TO body", "ALTER TABLE note RENAME TO notes"],
            renames: renames
        ).run()
        expectFault(
            try proof(
                from: from,
                to: to,
                up: ["CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT)", "DROP TABLE notes"],
                down: [
                    "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT)", "DROP TABLE note",
                ],
                renames: renames
            ),
            .up,
            "note has 0 rows instead of 3"
        )
    }

    /// Generated rows have NULLs. Only a hazard explains that they are refused.
    @Test func rowsThatAHazardNamesMayBeRefused() throws {
        let from = "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT)"
        let to = "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT NOT NULL)"
        let up = rebuild("body TEXT NOT NULL", from: "SELECT id, body FROM notes")
        let down = rebuild("body TEXT", from: "SELECT id, body FROM notes")
        expectFault(
            try proof(from: from, to: to, up: up, down: down),
            .up,
            "it fails: NOT NULL constraint failed: new.body"
        )
        try proof(
            from: from,
            to: to,
            up: up,
            down: down,
            hazards: [hazard(.mayViolateNotNull, "notes", "body")]
        ).run()
    }

    /// Rows that may be refused are left out, although a trigger forbids to delete them, or brings them back.
    @Test(arguments: [
        "BEFORE DELETE ON notes BEGIN SELECT RAISE(ABORT, 'never'); END",
        "AFTER DELETE ON notes BEGIN INSERT INTO notes VALUES (old.id, old.body); END",
    ])
    func rowsThatATriggerKeepsAreLeftOut(_ trigger: String) throws {
        func schema(_ body: String) -> String {
            "CREATE TABLE notes (id INTEGER PRIMARY KEY, body \(body)); CREATE TRIGGER t \(trigger)"
        }
        func rebuild(_ body: String) -> [String] {
            self.rebuild("body \(body)", from: "SELECT id, body FROM notes")
                + ["CREATE TRIGGER t \(trigger)"]
        }
        try proof(
            from: schema("TEXT"),
            to: schema("TEXT NOT NULL"),
            up: ["DROP TRIGGER t"] + rebuild("TEXT NOT NULL"),
            down: ["DROP TRIGGER t"] + rebuild("TEXT"),
            hazards: [hazard(.mayViolateNotNull, "notes", "body")]
        ).run()
    }

    /// Generated rows are changed after they were indexed.
    @Test(arguments: [
        "fts5 (body, content='notes', content_rowid='id')", "fts4 (content=\"notes\", body)",
    ])
    func fullTextTableThatTheAppFillsIsFilled(_ search: String) throws {
        let search = "CREATE VIRTUAL TABLE search USING \(search);"
        try proof(
            from: "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT); \(search)",
            to: "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT, stars INTEGER); \(search)",
            up: [Self.addsStars]
        ).run()
    }

    /// Without quotes, NULL is no column.
    @Test func columnMayBeCalledNull() throws {
        let computed = #"CREATE TABLE t (name ANY, "null" INTEGER AS ((name IS NULL))) STRICT"#
        let difference = try SchemaDifference(
            from: schema("CREATE TABLE t (name ANY) STRICT"),
            to: schema(computed)
        )
        #expect(try SchemaMigration(difference).hazards.isEmpty)
        let checked = #"CREATE TABLE t (id INTEGER, "null" INTEGER, CHECK (id IS NOT NULL)) STRICT"#
        let other = try SchemaDifference(
            from: schema("CREATE TABLE o (a); \(checked)"),
            to: schema("CREATE TABLE o (a, b); \(checked)")
        )
        #expect(try SchemaMigration(other).hazards.isEmpty)
    }

    /// After the rollback, the dropped column is empty, and so the expression has no value.
    @Test func expressionOverADroppedColumnIsProved() throws {
        let from = "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT)"
        let to = "CREATE TABLE notes (id INTEGER PRIMARY KEY, n INTEGER NOT NULL)"
        try proof(
            from: from,
            to: to,
            up: rebuild(
                "n INTEGER NOT NULL",
                from: "SELECT id, length(coalesce(body, rowid % 2)) FROM notes"
            ),
            down: rebuild("body TEXT", from: "SELECT id, NULL FROM notes"),
            notBroughtBack: ["the values of notes.body"],
            hazards: [hazard(.dropColumn, "notes", "body")],
            backfilling: ["notes.n"]
        ).run()
    }

    @Test func rowsOfACopyThatAreRefusedAreNotAFault() throws {
        let queue = try DatabaseQueue()
        try queue.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
                    INSERT INTO grdb_migrations VALUES ('0001');
                    CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
                    INSERT INTO t VALUES (1, 'secret'), (2, 'secret');
                    """
            )
        }
        let unique = try proof(
            from: "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)",
            to: "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT); CREATE UNIQUE INDEX i ON t (a)",
            up: ["CREATE UNIQUE INDEX i ON t (a)"],
            down: ["DROP INDEX i"],
            hazards: [hazard(.mayViolateUnique, "t", "a")]
        )
        try unique.run()
        let error = #expect(throws: SchemaMigrationProofError.self) { try unique.run(on: queue) }
        #expect(error?.isRefusal == true)
        #expect(error?.errorDescription?.contains("UNIQUE constraint failed: t.a") == true)
        #expect("\(String(describing: error))".contains("secret") == false)
        try queue.write { try $0.execute(sql: "DELETE FROM t WHERE id = 2") }
        let counts = try unique.run(on: queue)
        #expect(counts.map(\.table) == ["t"])
        #expect(counts.map(\.before) == [1] && counts.map(\.after) == [1])
    }

    @Test func copyWithAnotherSchemaIsRefused() throws {
        let queue = try DatabaseQueue()
        let error = #expect(throws: SchemaMigrationProofError.self) {
            try proof(up: [Self.addsStars]).run(on: queue)
        }
        #expect(error?.stage == .start)
    }

    // MARK: - Text

    @Test(arguments: MigrationFormat.allCases)
    func textHasNoFindingThatIsNotAllowed(_ format: MigrationFormat) throws {
        let sql = try proof(
            from: Self.withStars,
            to: Self.notes,
            up: [Self.dropsStars],
            down: [Self.addsStars],
            notBroughtBack: ["the values of notes.stars"],
            hazards: [hazard(.dropColumn, "notes", "stars")]
        ).sql(as: format)
        #expect(
            sql.up == [
                "-- migrationkit:allow drop-column --allow-hazard drop-column\n\(Self.dropsStars)"
            ]
        )
        #expect(
            sql.down == [
                """
                -- The rollback can't bring back:
                --   the values of notes.stars
                -- It fails, and changes nothing, if later rows depend on what is lost.
                \(Self.addsStars)
                """
            ]
        )
        let report = try lint([
            Self.withStars, (sql.up.joined(separator: ";\n")) + ";",
        ])
        #expect(report.lines().allSatisfy { !$0.contains("drop-column") }, "\(report.lines())")
    }

    @Test func textWithAnErrorOfTheLinterIsAFault() throws {
        let fault = try proof(
            from: "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT)",
            to: "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT, stars INTEGER)",
            up: rebuild("body TEXT, stars INTEGER", from: "(id) SELECT id FROM notes")
        )
        let error = #expect(throws: SchemaMigrationProofError.self) {
            try fault.sql(as: .dbmate)
        }
        #expect(error?.stage == .lint)
        #expect(error?.reason.contains("rebuild-loses-column") == true)
    }

    // MARK: - Rows That Are Refused

    /// Generated texts aren't JSON.
    @Test func expressionThatSuitsNoGeneratedRowIsNoFault() throws {
        let table = "CREATE TABLE t (id INTEGER PRIMARY KEY, b TEXT);"
        let difference = try SchemaDifference(
            from: schema(table),
            to: schema(table + "CREATE INDEX j ON t (json_extract(b, '$.x'))")
        )
        let migration = try SchemaMigration(difference)
        try SchemaMigrationProof(of: migration, between: difference).run()
    }

    @Test func valuesThatAStrictTableRefusesAreNoFault() throws {
        let difference = try SchemaDifference(
            from: schema("CREATE TABLE t (a TEXT, g ANY AS (a)) STRICT"),
            to: schema("CREATE TABLE t (a TEXT, g INTEGER AS (a)) STRICT")
        )
        let migration = try SchemaMigration(difference)
        #expect(migration.hazards.map(\.kind).contains(.mayViolateStrict))
        try SchemaMigrationProof(of: migration, between: difference).run()
    }

    @Test func wayDownThatRowsRefuseIsNoFaultOnACopy() throws {
        let from = """
            CREATE TABLE p (a INTEGER PRIMARY KEY);
            CREATE TABLE c (x INTEGER REFERENCES p (a) ON DELETE CASCADE);
            """
        let difference = try SchemaDifference(
            from: schema(from),
            to: schema("CREATE TABLE c (x INTEGER)")
        )
        let migration = try SchemaMigration(difference)
        let proof = SchemaMigrationProof(of: migration, between: difference)
        let copy = try DatabaseQueue()
        try copy.write {
            try $0.execute(sql: from + "INSERT INTO p VALUES (1); INSERT INTO c VALUES (1)")
        }
        let counts = try proof.run(on: copy)
        #expect(counts.map(\.after) == [1])
        let down = try proof.sql(as: .dbmate).down
        #expect(down.first?.contains("It fails, and changes nothing,") == true, "\(down)")
    }

    @Test func referenceToADroppedTableIsAFaultOfTheWantedSchema() throws {
        let children = "CREATE TABLE c (id INTEGER PRIMARY KEY, x INTEGER REFERENCES p (a));"
        let difference = try SchemaDifference(
            from: schema("CREATE TABLE p (a INTEGER PRIMARY KEY);" + children),
            to: schema(children)
        )
        let migration = try SchemaMigration(difference)
        let proof = SchemaMigrationProof(of: migration, between: difference)
        let error = #expect(throws: SchemaMigrationProofError.self) { try proof.sql(as: .dbmate) }
        #expect(error?.stage == .wanted)
        #expect(error?.errorDescription?.hasPrefix("the wanted schema is wrong: ") == true)
    }

    /// An empty database of that schema is refused for the same.
    @Test(arguments: [
        ("CREATE TABLE c (x REFERENCES nope)", "the table 'c' refers to the table 'nope'"),
        ("CREATE TABLE c (x REFERENCES p (a))", "foreign key mismatch"),
    ])
    func referenceToNothingIsAFaultOfTheWantedSchema(table: String, reason: String) throws {
        let present = "CREATE TABLE p (a);"
        let difference = try SchemaDifference(from: schema(present), to: schema(present + table))
        let proof = try SchemaMigrationProof(of: SchemaMigration(difference), between: difference)
        let error = #expect(throws: SchemaMigrationProofError.self) { try proof.run() }
        #expect(error?.stage == .wanted)
        #expect(error?.errorDescription?.contains(reason) == true)
        #expect(error?.code.name == "brokenSchema")
        #expect(error?.recoverySuggestion?.contains("fault of MigrationKit") == false)
    }

    // MARK: - Names

    @Test func hazardHasTheNameOfTheRuleThatFindsIt() {
        let others: [SchemaHazard.Kind] = [.reusesRowIDs, .rewritesTable]
        #expect(SchemaHazard.Kind.allCases.filter { $0.rule == nil } == others)
        let rules: [LintRule] = [
            .dropTable, .dropColumn, .narrowsType, .mayViolateNotNull, .mayViolateUnique,
            .mayViolateCheck, .mayViolateStrict, .mayViolateForeignKey,
        ]
        #expect(SchemaHazard.Kind.allCases.compactMap(\.rule) == rules)
    }
}
