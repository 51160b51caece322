import GRDB
import MigrationKit
import MigrationKitGRDB

// The example of Documentation/Batches.md. `DocumentationExampleTests` compares the texts.

/// A step that fills a column in batches.
public func fillSize() -> MigrationStep<Database> {
    MigrationStep(
        identifier: "0003_fill_size",
        batched: [.backfill("size", of: "notes", with: "length(body)")],
        rollbackSQL: "UPDATE notes SET size = NULL"
    )
}
