import Foundation
import GRDB
import MigrationKit
import MigrationKitGRDB
import TestSupport
import Testing

/// Everything runs, and nothing stays.
@Suite struct DryRunTests {
    private let store: EncryptedStore

    init() throws {
        store = try EncryptedStore()
    }

    private func steps() -> [MigrationStep<Database>] {
        itemSteps() + [
            step(
                "0004_changes",
                """
                UPDATE item SET name = upper(name);
                DELETE FROM item WHERE id = 3;
                ALTER TABLE item ADD COLUMN size INTEGER;
                DROP INDEX tag_itemId;
                CREATE VIEW names AS SELECT name FROM item;
                """
            )
        ]
    }

    @Test func previewTellsStepsRowsAndObjects() throws {
        let writer = try store.open()
        let runner = try GRDBMigrationRunner(steps: steps())
        try runner.migrate(in: writer, upTo: "0001_items")
        try writer.write { db in
            try db.execute(sql: "INSERT INTO item VALUES (1, 'a'), (2, 'b'), (3, 'c')")
        }

        let preview = try runner.dryRun(in: writer)
        #expect(preview.steps.map(\.identifier) == ["0002_tags", "0003_tag_index", "0004_changes"])
        #expect(preview.steps.map(\.rowsChanged).last == 4)
        #expect(preview.steps.allSatisfy { $0.seconds > 0 })
        #expect(
            preview.objects.map { "\($0.kind) \($0.type) \($0.name)" } == [
                "changed table item", "created table tag", "created view names",
            ]
        )
        #expect(!preview.schemaBefore.contains("size"))
        #expect(preview.schemaAfter.contains("size INTEGER"))

        // And a run does just that.
        let report = try runner.migrate(in: writer)
        #expect(report.steps.map(\.rowsChanged) == preview.steps.map(\.rowsChanged))
        #expect(
            try writer.read(GRDBSchemaSnapshotProvider.snapshot(of:)) == preview.schemaAfter
        )
    }

    @Test func droppedObjectsAreTold() throws {
        let writer = try store.open()
        let runner = try GRDBMigrationRunner(steps: steps())
        try runner.migrate(in: writer, upTo: "0003_tag_index")
        let objects = try runner.dryRun(in: writer).objects
        #expect(objects.filter { $0.kind == .dropped }.map(\.name) == ["tag_itemId"])
    }

    @Test(arguments: WriterKind.allCases)
    func nothingStays(_ kind: WriterKind) throws {
        let writer = try kind.open(store)
        let runner = try GRDBMigrationRunner(steps: steps())
        try runner.migrate(in: writer, upTo: "0001_items")
        try writer.write { try $0.execute(sql: "INSERT INTO item VALUES (1, 'a'), (3, 'c')") }
        let before = try Everything(of: writer)
        let file = try store.folder.data("store.db")

        _ = try runner.dryRun(in: writer)
        #expect(try Everything(of: writer) == before)
        #expect(try store.folder.data("store.db") == file)
        #expect(try writer.number("PRAGMA foreign_keys") == 1)
        #expect(!(try store.folder.names.contains("store.db-migration.lock")))
    }

    @Test func newStoreStaysEmpty() throws {
        let writer = try store.open()
        let preview = try GRDBMigrationRunner(steps: steps()).dryRun(in: writer)
        #expect(preview.steps.count == 4)
        #expect(preview.schemaBefore.isEmpty)
        #expect(try Everything(of: writer).schema.isEmpty)
    }

    @Test func runUpToATargetCanBeTried() throws {
        let writer = try store.open()
        let runner = try GRDBMigrationRunner(steps: steps())
        let preview = try runner.dryRun(in: writer, upTo: "0002_tags")
        #expect(preview.steps.map(\.identifier) == ["0001_items", "0002_tags"])
        #expect(throws: MigrationKitError.unknownMigrationTarget("0009")) {
            try runner.dryRun(in: writer, upTo: "0009")
        }
    }

    @Test func storeThatIsUpToDateHasNothingToTell() throws {
        let writer = try store.open()
        let runner = try GRDBMigrationRunner(steps: steps())
        try runner.migrate(in: writer)
        let preview = try runner.dryRun(in: writer)
        #expect(preview.steps.isEmpty)
        #expect(preview.objects.isEmpty)
        #expect(preview.schemaBefore == preview.schemaAfter)
    }

    @Test func whatWouldFailInARunFailsHere() throws {
        let writer = try store.open()
        let failing = try GRDBMigrationRunner(
            steps: steps(),
            requiredIndexes: [RequiredIndexSpec(table: "tag", index: "tag_itemId")]
        )
        #expect(
            throws: GRDBMigrationVerificationError.missingIndex(table: "tag", index: "tag_itemId")
        ) {
            try failing.dryRun(in: writer)
        }
        let checked = try GRDBMigrationRunner(
            steps: steps(),
            integration: .init(
                verifyPostMigration: { _ in Issue.record("nothing was committed") },
                verifyBeforeCommit: { _ in throw PlannedFailure() }
            )
        )
        #expect(throws: PlannedFailure()) { try checked.dryRun(in: writer) }
        #expect(try Everything(of: writer).schema.isEmpty)
    }

    @Test func bootstrapIsTriedAsWell() throws {
        let writer = try store.open()
        let runner = try GRDBMigrationRunner(
            steps: [step("0001", "ALTER TABLE base ADD COLUMN name TEXT")],
            integration: .init(bootstrapSchema: { db in
                try db.execute(sql: "CREATE TABLE IF NOT EXISTS base (id INTEGER PRIMARY KEY)")
                return true
            })
        )
        let preview = try runner.dryRun(in: writer)
        #expect(preview.objects.map(\.name) == ["base"])
        #expect(try Everything(of: writer).schema.isEmpty)
    }
}
