import Foundation
import MigrationKitLint
import MigrationKitSQL
import MigrationKitSchema
import TestSupport
import Testing

/// What a difference names as a hazard, the linter finds in the migration that is written for it.
@Suite struct RowDemandTests {
    @Test func everyRequirementIsAHazardAndARule() {
        for requirement in RowDemand.Requirement.allCases {
            #expect(requirement.hazard.mayRefuseRows)
            #expect(requirement.hazard.rule != nil)
        }
        let refusing = SchemaHazard.Kind.allCases.filter(\.mayRefuseRows).map(\.rawValue)
        #expect(Set(refusing) == Set(RowDemand.Requirement.allCases.map(\.hazard.rawValue)))
    }

    struct Pair: CustomTestStringConvertible, Sendable {
        let name: String
        let from: String
        let to: String
        let demands: Set<RowDemand.Requirement>
        var backfills: [String: String] = [:]

        var testDescription: String { name }
    }

    static let parents = "CREATE TABLE p (k TEXT COLLATE NOCASE PRIMARY KEY, n INTEGER);"

    static let pairs = [
        Pair(
            name: "a CHECK on a column",
            from: "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)",
            to: "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER CHECK (a > 5))",
            demands: [.check]
        ),
        Pair(
            name: "a CHECK over two columns",
            from: "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER)",
            to:
                "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER, CHECK (a <= b OR b = 7))",
            demands: [.check]
        ),
        Pair(
            name: "a CHECK on a length",
            from: "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL)",
            to: "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL CHECK (length(a) <= 40))",
            demands: [.check]
        ),
        Pair(
            name: "a CHECK that allows fewer texts, in a key",
            from: "CREATE TABLE t (a TEXT PRIMARY KEY NOT NULL CHECK (a IN ('x', 'y', 'z')))",
            to: "CREATE TABLE t (a TEXT PRIMARY KEY NOT NULL CHECK (a IN ('x', 'y')))",
            demands: [.check]
        ),
        Pair(
            name: "a CHECK on the rowid",
            from: "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)",
            to: "CREATE TABLE t (id INTEGER PRIMARY KEY CHECK (id > 0), a TEXT)",
            demands: [.check]
        ),
        Pair(
            name: "a unique index on joined texts",
            from: "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b TEXT, UNIQUE (a, b))",
            to: """
                CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b TEXT, UNIQUE (a, b));
                CREATE UNIQUE INDEX i ON t (a || b)
                """,
            demands: [.unique]
        ),
        Pair(
            name: "a unique index on a part of a text",
            from: "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL UNIQUE)",
            to: """
                CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL UNIQUE);
                CREATE UNIQUE INDEX i ON t (substr(a, 1, 10))
                """,
            demands: [.unique]
        ),
        Pair(
            name: "a text that becomes the rowid",
            from: "CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a TEXT)",
            to: "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)",
            demands: [.fits, .unique]
        ),
        Pair(
            name: "NOT NULL",
            from: "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)",
            to: "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL)",
            demands: [.notNull]
        ),
        Pair(
            name: "NOT NULL with an expression that may be NULL",
            from: "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL)",
            to: "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL, n TEXT NOT NULL)",
            demands: [.notNull],
            backfills: ["t.n": "nullif(a, '')"]
        ),
        Pair(
            name: "a UNIQUE constraint",
            from: "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)",
            to: "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT UNIQUE)",
            demands: [.unique]
        ),
        Pair(
            name: "a UNIQUE constraint that ignores case",
            from: "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT UNIQUE)",
            to: "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT COLLATE NOCASE UNIQUE)",
            demands: [.unique]
        ),
        Pair(
            name: "a unique index that ignores case",
            from: "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT); CREATE UNIQUE INDEX i ON t (a)",
            to: """
                CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
                CREATE UNIQUE INDEX i ON t (a COLLATE NOCASE)
                """,
            demands: [.unique]
        ),
        Pair(
            name: "a partial unique index",
            from: "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b INTEGER NOT NULL)",
            to: """
                CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b INTEGER NOT NULL);
                CREATE UNIQUE INDEX i ON t (a) WHERE b = 77
                """,
            demands: [.unique]
        ),
        Pair(
            name: "a partial UNIQUE index that is total",
            from: """
                CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b INTEGER NOT NULL);
                CREATE UNIQUE INDEX i ON t (a) WHERE b = 77
                """,
            to: """
                CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b INTEGER NOT NULL);
                CREATE UNIQUE INDEX i ON t (a)
                """,
            demands: [.unique]
        ),
        Pair(
            name: "STRICT with TEXT",
            from: "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)",
            to: "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT) STRICT",
            demands: [.types]
        ),
        Pair(
            name: "REAL that becomes TEXT",
            from: "CREATE TABLE t (id INTEGER PRIMARY KEY, a REAL)",
            to: "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)",
            demands: [.fits]
        ),
        Pair(
            name: "TEXT that becomes INTEGER",
            from: "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)",
            to: "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)",
            demands: [.fits]
        ),
        Pair(
            name: "a generated column that is NOT NULL",
            from: "CREATE TABLE t (id INTEGER PRIMARY KEY, j TEXT)",
            to: "CREATE TABLE t (id INTEGER PRIMARY KEY, j TEXT, s TEXT NOT NULL AS (lower(j)))",
            demands: [.notNull]
        ),
        Pair(
            name: "a stored generated column of a STRICT table",
            from: "CREATE TABLE t (id INTEGER PRIMARY KEY, j TEXT) STRICT",
            to: "CREATE TABLE t (id INTEGER PRIMARY KEY, j TEXT, n INTEGER AS (j) STORED) STRICT",
            demands: [.types]
        ),
        Pair(
            name: "a new INTEGER PRIMARY KEY",
            from: "CREATE TABLE t (a INTEGER, b TEXT)",
            to: "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)",
            demands: [.fits, .notNull, .unique]
        ),
        Pair(
            name: "a foreign key",
            from: parents + "CREATE TABLE c (id INTEGER PRIMARY KEY, k TEXT)",
            to: parents + "CREATE TABLE c (id INTEGER PRIMARY KEY, k TEXT REFERENCES p (k))",
            demands: [.parent]
        ),
        Pair(
            name: "a parent's collation",
            from: parents + "CREATE TABLE c (id INTEGER PRIMARY KEY, k TEXT REFERENCES p (k))",
            to: """
                CREATE TABLE p (k TEXT PRIMARY KEY, n INTEGER);
                CREATE TABLE c (id INTEGER PRIMARY KEY, k TEXT REFERENCES p (k))
                """,
            demands: [.parent]
        ),
    ]

    @Test(arguments: pairs)
    func differenceAndLinterSayTheSame(pair: Pair) throws {
        let difference = try SchemaDifference(
            from: DatabaseSchema(sql: pair.from),
            to: DatabaseSchema(sql: pair.to)
        )
        let migration = try SchemaMigration(difference, backfills: pair.backfills)
        let expected = Set(pair.demands.map(\.hazard.rawValue))
        #expect(
            Set(migration.hazards.map(\.kind).filter(\.mayRefuseRows).map(\.rawValue)) == expected
        )
        #expect(try Self.found(in: migration, of: difference) == expected)
    }

    /// Nothing that the linter finds is missing among the hazards.
    @Test func whatTheLinterFindsIsAHazard() throws {
        var named = 0
        var confirmed = 0
        for number in RandomPair.numbers(20) {
            let pair = RandomPair(number: number)
            let difference = try SchemaDifference(
                from: DatabaseSchema(sql: pair.fromStatements.joined(separator: ";\n")),
                to: DatabaseSchema(sql: pair.toStatements.joined(separator: ";\n")),
                renames: pair.schemaRenames
            )
            guard !difference.isEmpty else { continue }
            let migration = try SchemaMigration(difference, backfills: pair.backfills)
            let hazards = Set(
                migration.hazards.map(\.kind).filter(\.mayRefuseRows).map(\.rawValue)
            )
            let found = try Self.found(in: migration, of: difference)
            #expect(found.isSubset(of: hazards), "\(found.subtracting(hazards))\n\(pair)")
            named += hazards.count
            confirmed += found.count
        }
        #expect(confirmed > 0)
        if RandomPair.numbers(20).count > 100 { print("\(named) named, \(confirmed) confirmed") }
    }

    /// The names that the linter finds in a migration without comments that allow something.
    private static func found(
        in migration: SchemaMigration,
        of difference: SchemaDifference
    ) throws -> Set<String> {
        var migrations = [("wanted", NewMigrationSQL(up: migration.up))]
        if !difference.from.statements.isEmpty {
            migrations.insert(("present", NewMigrationSQL(up: difference.from.statements)), at: 0)
        }
        let folder = try MigrationFolder.inMemory(migrations, format: .dbmate)
        var lint = MigrationLint(folder: folder)
        lint.selection = folder.steps.last.map { [$0.identifier] }
        let names = Set(RowDemand.Requirement.allCases.map(\.hazard.rawValue))
        return try Set(lint.report().findings.map(\.rule.rawValue).filter(names.contains))
    }

    /// Only its finder makes a demand, and no rule but its trial has such a name.
    @Test func thereIsOneFinder() throws {
        let sources = PackageFolder.path("Sources")
        let files = try #require(FileManager.default.enumerator(atPath: sources))
        for case let file as String in files where file.hasSuffix(".swift") {
            let text = try String(contentsOfFile: "\(sources)/\(file)", encoding: .utf8)
            let isFinder = file.contains("RowDemands")
            #expect(isFinder || !text.contains("RowDemand("), "\(file)")
            let isRule =
                file.contains("MigrationKitLint/Rules/") && !file.hasSuffix("FailedChecks.swift")
            #expect(!isRule || !text.contains(".mayViolate"), "\(file)")
        }
    }
}
