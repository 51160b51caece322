import MigrationKit
import MigrationKitGRDB
import MigrationKitSQL

/// What `migrate` does to one store, by itself or one of many. It asks and prints nothing.
struct MigrateJob {
    let store: OpenStore
    let range: MigrationRange
    /// What another tool has recorded; `nil` if nothing is taken over.
    let adoption: MigrationAdoption?
    let adopting: AdoptionOptions

    private var adopted: [String] { adoption?.identifiers ?? [] }

    /// - Parameter adopting: Which other tool's record is taken over, if any.
    init(
        _ store: OpenStore,
        _ range: MigrationRange,
        _ adopting: AdoptionOptions,
        in context: CommandContext
    ) throws {
        self.store = store
        self.range = range
        self.adopting = adopting
        // Where something is recorded, another tool's record doesn't count.
        adoption = try adopting.adopt.flatMap {
            try store.adoption(from: $0, table: adopting.adoptTable, in: context)
        }
    }

    /// Throws if the run would apply drafts.
    func checkForDrafts() throws {
        try store.checkForDrafts(in: range, besides: adopted)
    }

    /// Checks the run, before anything is copied or recorded, and changes nothing.
    ///
    /// - Returns: Whether there is anything to do.
    /// - Throws: ``CommandError`` if the record has gaps; what the run would throw before its first step.
    func check(_ options: MigrationOptions) throws -> Bool {
        try store.checkRun(adopting: adoption, range, options.transaction)
    }

    /// Records what is taken over, unless that is done in one transaction with the run, there is nothing
    /// to record, or another launch was faster.
    ///
    /// - Returns: The identifiers that were recorded.
    /// - Throws: As ``OpenStore/adopt(_:table:before:options:in:)``.
    func adopt(_ options: MigrationOptions, in context: CommandContext) throws -> [String] {
        guard let adoption, options.transaction != .allOrNothing else { return [] }
        let isRepeated = adoption.tool == .userVersion
        if isRepeated, adopted.isEmpty { return [] }
        do {
            return try store.adopt(
                adoption.tool,
                table: adopting.adoptTable,
                before: range,
                options: options,
                in: context
            )
        } catch MigrationKitError.baselineOnMigratedDatabase where isRepeated {
            return []
        }
    }

    /// Runs everything, and undoes it.
    func dryRun(_ options: MigrationOptions) throws -> MigrationPreview {
        try store.runner.dryRun(
            in: store.writer,
            recording: adopted,
            upTo: range.target,
            steps: range.count,
            options: options
        )
    }

    /// Runs what comes after the recording. If it fails before anything is applied, the record is taken
    /// out again: the database may lack what it says.
    ///
    /// What a migration without a transaction has done stays, and so does the record then: the run goes on
    /// from there.
    ///
    /// - Parameters:
    ///   - recorded: What ``adopt(_:in:)`` has recorded.
    ///   - forgotten: Called if it was taken out again.
    func run(
        after recorded: [String],
        _ options: MigrationOptions,
        forgotten: () -> Void = {}
    ) throws -> MigrationReport {
        let runner = store.runner
        do {
            return try runner.migrate(
                in: store.writer,
                recording: options.transaction == .allOrNothing ? adopted : [],
                range,
                options: options
            )
        } catch {
            let next = runner.steps.first { !recorded.contains($0.identifier) }
            if !recorded.isEmpty, next?.usesTransaction != false {
                // Without waiting: a process that has the lock by now may be running from the record,
                // which then stays.
                let options = MigrationOptions(lockTimeout: 0)
                if (try? runner.forgetRecorded(recorded, in: store.writer, options: options))
                    == true
                {
                    forgotten()
                }
            }
            throw error
        }
    }
}
