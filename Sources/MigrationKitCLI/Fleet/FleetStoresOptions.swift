import ArgumentParser
import MigrationKitFleet

/// The options that name the stores, and this task's part of them.
struct FleetStoresOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A pattern of databases, quoted: '*' is any part of a name, '**' any folders.",
            valueName: "pattern"
        )
    )
    var stores: String?

    @Option(
        help: ArgumentHelp(
            "A list of databases: a path a line, or JSON lines with path, account and group, or those of a report; '-' is standard input.",
            valueName: "path"
        ),
        completion: .file()
    )
    var storesFile: String?

    @OptionGroup var naming: StoreNamingOptions

    @Option(
        help: ArgumentHelp(
            "A pattern of databases to leave out, by name or path; may be given several times.",
            valueName: "pattern"
        )
    )
    var exclude: [String] = []

    @Option(
        help: ArgumentHelp(
            "Which part of the databases, from 1/N to N/N; default: that of the array's task.",
            valueName: "i/n"
        ),
        transform: { text in
            let parts = text.split(separator: "/", omittingEmptySubsequences: false)
                .map { Int($0) }
            guard parts.count == 2, let number = parts[0], let count = parts[1],
                let shard = StoreShard(number: number, of: count)
            else { throw ValidationError("'\(text)' is not of the form I/N, from 1/N to N/N.") }
            return shard
        }
    )
    var shard: StoreShard?

    @Option(
        help: ArgumentHelp(
            "How many shards there are; the scheduler's task number selects this task's.",
            valueName: "n"
        )
    )
    var shards: Int?

    func validate() throws {
        guard (stores == nil) != (storesFile == nil) else {
            throw ValidationError("Give the databases with either --stores or --stores-file.")
        }
        guard shard == nil || shards == nil else {
            throw ValidationError("--shard says how many parts there are. Leave out --shards.")
        }
        guard shards.map({ $0 > 0 }) ?? true else {
            throw ValidationError("The value for '--shards' must be at least 1.")
        }
        for pattern in exclude { try checkNotEmpty(pattern, "--exclude") }
    }

    /// The stores of this task.
    struct Task {
        /// The stores, in order.
        let stores: [FleetStore]
        /// The part of the fleet that they are; `nil` for all of it.
        let shard: FleetRecord.Shard?
        /// What matches the pattern beside them.
        let skipped: [StorePattern.Skipped]
        /// How many of the fleet were left out.
        let excluded: Int
    }

    /// The stores of this task.
    ///
    /// - Parameters:
    ///   - group: A group that must be in the list.
    ///   - keysGoByNames: Whether another name would mean another key.
    /// - Throws: `FleetError`; ``CommandError``.
    func task(
        with group: String? = nil,
        keysGoByNames: Bool,
        in context: CommandContext
    ) throws -> Task {
        let shard = try shard ?? shardOfTask(context.environment)
        let names = try context.value(\.nameFrom, of: naming).map(StoreNames.init(below:))
        var (all, skipped): ([FleetStore], [StorePattern.Skipped]) = ([], [])
        if let stores {
            let pattern = StorePattern(stores)
            (all, skipped) = try pattern.matches(names: names)
            if keysGoByNames, names == nil, let first = all.first {
                throw CommandError.noNameRoot(folder: pattern.fixedFolder, example: first)
            }
        } else {
            all = try StoreList(path: storesFile ?? "").stores(names: names)
        }
        let count = all.count
        let patterns = exclude.map(StorePattern.init)
        all.removeAll { store in
            patterns.contains { $0.contains(store.name) || $0.contains(store.path) }
        }
        let excluded = count - all.count
        guard !all.isEmpty else {
            throw FleetError.noStores(source: "the list without what --exclude leaves out")
        }
        if let group, !all.contains(where: { $0.group == group }) {
            throw CommandError.noCanaries(group: group)
        }
        guard let shard else {
            return Task(stores: all, shard: nil, skipped: skipped, excluded: excluded)
        }
        let stores = all.filter { shard.contains($0.name) }
        let part = FleetRecord.Shard(shard, stores: stores.count, allStores: all.count)
        return Task(stores: stores, shard: part, skipped: skipped, excluded: excluded)
    }

    /// The part that a scheduler gives this task.
    ///
    /// Slurm: <https://slurm.schedmd.com/job_array.html#env_vars>. Kubernetes:
    /// <https://kubernetes.io/docs/concepts/workloads/controllers/job/#completion-mode>
    private func shardOfTask(_ environment: ProcessEnvironment) throws -> StoreShard? {
        func number(_ name: String) throws -> Int? {
            guard let text = environment.nonEmpty(name) else { return nil }
            guard let number = Int(text) else { throw CommandError.unusableTask(name) }
            return number
        }
        let slurm = try number("SLURM_ARRAY_TASK_ID")
        if let shards {
            guard let index = try slurm ?? number("JOB_COMPLETION_INDEX") else {
                throw CommandError.noTask
            }
            let name = slurm == nil ? "JOB_COMPLETION_INDEX" : "SLURM_ARRAY_TASK_ID"
            // Otherwise an array from 1 on would leave out a shard, and only its last task fail.
            if slurm != nil, let last = try number("SLURM_ARRAY_TASK_MAX"), last >= shards {
                throw CommandError.taskBeyond(
                    "SLURM_ARRAY_TASK_MAX",
                    index: last,
                    count: shards
                )
            }
            guard let shard = StoreShard(number: index + 1, of: shards) else {
                throw CommandError.taskBeyond(name, index: index, count: shards)
            }
            return shard
        }
        if let slurm {
            let minimum = try number("SLURM_ARRAY_TASK_MIN") ?? 0
            let step = max(1, try number("SLURM_ARRAY_TASK_STEP") ?? 1)
            guard let count = try number("SLURM_ARRAY_TASK_COUNT"),
                (slurm - minimum) % step == 0,
                let shard = StoreShard(number: (slurm - minimum) / step + 1, of: count)
            else { throw CommandError.unusableTask("SLURM_ARRAY_TASK_ID") }
            // One task of an array is submitted again as an array of one: it would do all stores.
            guard count > 1 else { throw CommandError.unknownShardCount }
            return shard
        }
        guard try number("JOB_COMPLETION_INDEX") == nil else {
            throw CommandError.unknownShardCount
        }
        return nil
    }
}
