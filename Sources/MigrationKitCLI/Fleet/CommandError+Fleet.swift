import MigrationKitCommon
import MigrationKitFleet

/// Why a fleet command can't start.
extension CommandError {
    /// No source of the stores' keys was given.
    static let noKeys = CommandError(
        ErrorCode("noKey", .usage),
        "no source of the databases' keys was given",
        """
        Give it with --key-file-suffix or --keys-dir for a file each, --master-key-file, \
        --key-helper or --keychain-service. For plaintext databases, use --no-encryption.
        """
    )

    /// No source of new keys was given.
    static let noNewKeys = CommandError(
        ErrorCode("noNewKey", .usage),
        "no source of the databases' new keys was given",
        """
        Give it with --new-master-key-file, --new-keys-dir, --new-key-file-suffix or \
        --new-key-helper.
        """
    )

    /// The new keys are those that the stores have.
    static let sameKeys = sameKey("the new keys come from the same place as the old ones")

    /// A store's new key is the one that it has.
    static func sameKey(store: String) -> CommandError {
        sameKey("the new key of '\(store)' is the one that it has")
    }

    private static func sameKey(_ message: String) -> CommandError {
        CommandError(
            ErrorCode("sameKey", .usage),
            message,
            "Nothing was changed. Make new keys, and keep the old ones until all databases have them."
        )
    }

    /// The source of new keys gives another one each time, so nobody keeps them.
    static func changingKey(store: String) -> CommandError {
        CommandError(
            ErrorCode("keyHelperFailed", .noPermission),
            "the source of new keys gave two different ones for '\(store)'",
            "A key that nobody keeps would be lost. The program must store a new key before it "
                + "answers, and answer the same each time."
        )
    }

    /// The keys go by the stores' names, and these would depend on the pattern.
    ///
    /// - Parameters:
    ///   - folder: The pattern's fixed folder.
    ///   - example: One of the stores, with its name relative to that folder.
    static func noNameRoot(folder: String, example: FleetStore) -> CommandError {
        CommandError(
            ErrorCode("noNameRoot", .usage),
            "each key goes by its store's name, but nothing says where in a path the name begins",
            """
            A folder must be named, since another pattern would give other names, and so other \
            keys. With --name-from \((folder.isEmpty ? "." : folder).shellPath), or as 'name-from' in \
            migrationkit.toml, the name of \(example.path) is '\(example.name)'. Always name the same one.
            """
        )
    }

    /// No store is in the group of those that come first.
    static func noCanaries(group: String) -> CommandError {
        CommandError(
            ErrorCode("noCanaries", .usage),
            "no store is in the group '\(group)' of --canary-group",
            """
            Groups come from --stores-file, with lines such as \
            {"path":"a.db","group":"canary"}.
            """
        )
    }

    /// The limit of open files allows fewer stores at the same time.
    static func tooManyJobs(_ jobs: Int, most: Int, limit: Int) -> CommandError {
        CommandError(
            ErrorCode("tooManyJobs", .usage),
            "--jobs \(jobs) needs more open files than the \(limit) that this process may have",
            "Give --jobs \(most) at most, or raise the limit ('ulimit -n'; LimitNOFILE= in a unit)."
        )
    }

    /// The file of the numbers can't be written.
    static func cannotWriteMetrics(path: String, reason: String) -> CommandError {
        CommandError(
            ErrorCode("cannotWrite", .cannotCreate),
            "can't write the metrics to \(path): \(reason)",
            "Make room on that disk, or give --metrics another path."
        )
    }
}

// MARK: - Shards

extension CommandError {
    /// The number of parts was given, and there is no array's task or indexed job.
    static let noTask = unknownShard(
        "--shards needs a task number from the scheduler, but this process is "
            + "not an array task",
        "Give the shard with --shard I/N."
    )

    /// A task of an indexed job doesn't know how many there are.
    static let unknownShardCount = unknownShard(
        "this is one task of a job or an array, but the number of shards is unknown",
        "Give the number of tasks of the whole job or array with --shards N. For all databases "
            + "in one task: --shard 1/1."
    )

    /// A variable of the scheduler has no value from which the part follows.
    static func unusableTask(_ variable: String) -> CommandError {
        unknownShard(
            "can't work out this task's shard from the variable \(variable)",
            """
            Number the array's tasks from 0 and give --shards N, or give the shard with --shard I/N.
            """
        )
    }

    /// A task has a number for which there is no part.
    static func taskBeyond(_ variable: String, index: Int, count: Int) -> CommandError {
        unknownShard(
            "\(variable) is \(index), but there are only the shards 0 to \(count - 1)",
            "Give as many --shards as there are tasks, with numbers from 0 on."
        )
    }

    private static func unknownShard(_ message: String, _ advice: String) -> CommandError {
        CommandError(ErrorCode("unknownShard", .usage), message, advice)
    }

    /// There is no report of these parts.
    static func missingShards(_ shards: [String]) -> CommandError {
        CommandError(
            ErrorCode("missingShards", .failed),
            "there is no report of the \(shards.count == 1 ? "shard" : "shards") "
                + shards.joined(separator: ", "),
            "Its task failed before its first store, or its report isn't among these. Run it again: "
                + "--shard I/N, with --report."
        )
    }

    /// The reports lack parts, and are of several commands or of different numbers of parts.
    static func mixedReports(_ splits: [String]) -> CommandError {
        CommandError(
            ErrorCode("mixedReports", .failed),
            "the reports are of different runs, and lack shards: \(splits.joined(separator: ", "))",
            "Merge the reports of one command with one number of shards at a time."
        )
    }
}

// MARK: - Stores That Are Not Done

extension CommandError {
    /// Some of the stores were not done.
    ///
    /// - Parameters:
    ///   - isUnsound: Whether a check of a store found something.
    ///   - keysGoByNames: Whether another name of a store would mean another key.
    ///   - list: What names the stores that are not done, in a sentence; `nil` if the command has
    ///     listed them.
    ///   - commands: The commands whose work it was.
    static func notDone(
        _ summary: FleetSummary,
        end: FleetRun.End = .complete,
        isUnsound: Bool = false,
        keysGoByNames: Bool = false,
        list: String?,
        commands: Set<String>
    ) -> CommandError {
        let count = counted(summary.count, "store")
        let failed = "\(summary.failed) of \(count) failed"
        let (code, message) =
            switch end {
            case .canary:
                (
                    ErrorCode("canaryFailed", .failed),
                    "a canary failed, so the other stores were not started"
                )
            case .failures:
                (
                    ErrorCode("tooManyFailures", .failed),
                    "\(failed), which exceeds --max-failures; the others were not started"
                )
            case .complete, .interrupted:
                if isUnsound {
                    (ErrorCode("verificationFailed", .verificationFailed), failed)
                } else if summary.failed > 0 {
                    (ErrorCode("storesFailed", .failed), failed)
                } else {
                    (
                        ErrorCode("storesUnfinished", .failed),
                        "\(summary.unfinished) of \(count) never finished"
                    )
                }
            }
        // When they are run again, these only check the stores in which they have done their work.
        let keepsFinished = commands.isSubset(of: ["migrate", "rollback", "restore", "rekey"])
        let rest = keepsFinished ? ": finished stores are only checked" : ""
        var advice = "Fix the cause, and run the command again\(rest)."
        if let list { advice += " \(list)" }
        if keysGoByNames,
            let wrongKey = summary.failures.first(where: { $0.error.code == "wrongKey" })
        {
            advice += """

                Each key goes by its store's name, such as '\(wrongKey.store)'. If these are not the \
                names with which the keys were made, --name-from must name the folder of that time.
                """
        }
        return CommandError(code, message, advice)
    }
}
