import ArgumentParser
import GRDB
import MigrationKitGRDB
import MigrationKitSQL

extension MigrationTool: ExpressibleByArgument {}

extension ArgumentHelp {
    /// The help of `--adopt`.
    static var adoptedTool: ArgumentHelp {
        ArgumentHelp(
            "Take over what another tool has applied, as its own table says.",
            valueName: "tool"
        )
    }
}

extension OpenStore {
    /// Records as applied what another tool's table says it has applied. The table stays.
    ///
    /// - Returns: The identifiers that were recorded.
    /// - Throws: ``MigrationCLIError/adoptionWithoutFolder``; `MigrationAdoptionError`; what
    ///   the runner's baseline throws, for a database that has a ledger already.
    func adopt(_ tool: MigrationTool, options: MigrationOptions) throws -> [String] {
        guard let folder else { throw MigrationCLIError.adoptionWithoutFolder }
        return try runner.baseline(in: writer, options: options) { db in
            try folder.identifiersApplied(by: tool, in: db)
        }
    }
}
