import Foundation
import MigrationKitCommon
import MigrationKitFleet

/// Why a fleet command can't start.
enum FleetCommandError: Error, Equatable {
    /// No source of the stores' keys was given.
    case noKeys

    /// No source of new keys was given.
    case noNewKeys

    /// The new keys are those that the stores have.
    case sameKeys

    /// A store's new key is the one that it has.
    case sameKey(store: String)

    /// The source of new keys gives another one each time, so nobody keeps them.
    case changingKey(store: String)

    /// The keys go by the stores' names, and these would depend on the pattern.
    ///
    /// - Parameters:
    ///   - folder: The pattern's fixed folder.
    ///   - example: One of the stores, with its name relative to that folder.
    case noNameRoot(folder: String, example: FleetStore)

    /// No store is in the group of those that come first.
    case noCanaries(group: String)

    /// The number of parts was given, and there is no array's task or indexed job.
    case noTask

    /// A task of an indexed job doesn't know how many there are.
    case unknownShardCount

    /// A variable of the scheduler has no value from which the part follows.
    case unusableTask(String)

    /// A task has a number for which there is no part.
    case taskBeyond(String, index: Int, count: Int)

    /// The limit of open files allows fewer stores at the same time.
    case tooManyJobs(Int, most: Int, limit: Int)

    /// There is no report of these parts.
    case missingShards([String])

    /// The reports lack parts, and are of several commands or of different numbers of parts.
    case mixedReports([String])

    /// The file of the numbers can't be written.
    case cannotWriteMetrics(path: String, reason: String)
}

extension FleetCommandError: CodedError {
    var errorDescription: String? {
        switch self {
        case .noKeys: "no source of the databases' keys was given"
        case .noNewKeys: "no source of the databases' new keys was given"
        case .sameKeys: "the new keys come from the same place as the old ones"
        case .sameKey(let store): "the new key of '\(store)' is the one that it has"
        case .changingKey(let store):
            "the source of new keys gave two different ones for '\(store)'"
        case .noNameRoot:
            "each key goes by its store's name, but nothing says where in a path the name begins"
        case .noCanaries(let group): "no store is in the group '\(group)' of --canary-group"
        case .noTask:
            "--shards needs a task number from the scheduler, but this process is "
                + "not an array task"
        case .unknownShardCount:
            "this is one task of a job or an array, but the number of shards is unknown"
        case .unusableTask(let name): "can't work out this task's shard from the variable \(name)"
        case .taskBeyond(let name, let index, let count):
            "\(name) is \(index), but there are only the shards 0 to \(count - 1)"
        case .tooManyJobs(let jobs, _, let limit):
            "--jobs \(jobs) needs more open files than the \(limit) that this process may have"
        case .missingShards(let shards):
            "there is no report of the \(shards.count == 1 ? "shard" : "shards") "
                + shards.joined(separator: ", ")
        case .mixedReports(let splits):
            "the reports are of different runs, and lack shards: \(splits.joined(separator: ", "))"
        case .cannotWriteMetrics(let path, let reason):
            "can't write the metrics to \(path): \(reason)"
        }
    }

    var recoverySuggestion: String? {
        switch self {
        case .noKeys:
            """
            Give it with --key-file-suffix or --keys-dir for a file each, --master-key-file, \
            --key-helper or --keychain-service. For plaintext databases, use --no-encryption.
            """
        case .noNewKeys:
            """
            Give it with --new-master-key-file, --new-keys-dir, --new-key-file-suffix or \
            --new-key-helper.
            """
        case .sameKeys, .sameKey:
            "Nothing was changed. Make new keys, and keep the old ones until all databases have them."
        case .changingKey:
            "A key that nobody keeps would be lost. The program must store a new key before it "
                + "answers, and answer the same each time."
        case .noNameRoot(let folder, let example):
            """
            A folder must be named, since another pattern would give other names, and so other \
            keys. With --name-from \((folder.isEmpty ? "." : folder).shellPath), or as 'name-from' in \
            migrationkit.toml, the name of \(example.path) is '\(example.name)'. Always name the same one.
            """
        case .noCanaries:
            """
            Groups come from --stores-file, with lines such as \
            {"path":"a.db","group":"canary"}.
            """
        case .noTask: "Give the shard with --shard I/N."
        case .unknownShardCount:
            "Give the number of tasks of the whole job or array with --shards N. For all databases "
                + "in one task: --shard 1/1."
        case .unusableTask:
            """
            Number the array's tasks from 0 and give --shards N, or give the shard with --shard I/N.
            """
        case .tooManyJobs(_, let most, _):
            "Give --jobs \(most) at most, or raise the limit ('ulimit -n'; LimitNOFILE= in a unit)."
        case .missingShards:
            "Its task failed before its first store, or its report isn't among these. Run it again: "
                + "--shard I/N, with --report."
        case .mixedReports:
            "Merge the reports of one command with one number of shards at a time."
        case .cannotWriteMetrics:
            "Make room on that disk, or give --metrics another path."
        case .taskBeyond: "Give as many --shards as there are tasks, with numbers from 0 on."
        }
    }

    var code: ErrorCode {
        switch self {
        case .noKeys: ErrorCode("noKey", .usage)
        case .noNewKeys: ErrorCode("noNewKey", .usage)
        case .sameKeys, .sameKey: ErrorCode("sameKey", .usage)
        case .changingKey: ErrorCode("keyHelperFailed", .noPermission)
        case .noNameRoot: ErrorCode("noNameRoot", .usage)
        case .noCanaries: ErrorCode("noCanaries", .usage)
        case .noTask, .unknownShardCount, .unusableTask, .taskBeyond:
            ErrorCode("unknownShard", .usage)
        case .tooManyJobs: ErrorCode("tooManyJobs", .usage)
        case .missingShards: ErrorCode("missingShards", .failed)
        case .mixedReports: ErrorCode("mixedReports", .failed)
        case .cannotWriteMetrics: ErrorCode("cannotWrite", .cannotCreate)
        }
    }
}

/// Some of the stores were not done.
struct FleetFailure: Error {
    let summary: FleetSummary
    let end: FleetRun.End
    /// Whether a check of a store found something.
    var isUnsound = false
    /// Whether another name of a store would mean another key.
    var keysGoByNames = false
    /// What names the stores that are not done.
    var list = List.none

    /// What names every store that is not done.
    enum List {
        /// Nothing yet: the run has no report.
        case none
        /// The merged report, if it is asked to.
        case merged
        /// This command has listed them.
        case listed
        /// The report of the run.
        case report(path: String)
    }

    /// The commands whose work it was.
    var commands: Set<String> = []

    /// Whether these only check the stores in which they have done their work, when they are run again.
    private var keepsFinished: Bool {
        commands.isSubset(of: ["migrate", "rollback", "restore", "rekey"])
    }
}

extension FleetFailure: CodedError {
    var errorDescription: String? {
        let count = "\(summary.count) \(summary.count == 1 ? "store" : "stores")"
        let failed = "\(summary.failed) of \(count) failed"
        switch end {
        case .canary: return "a canary failed, so the other stores were not started"
        case .failures:
            return "\(failed), which exceeds --max-failures; the others were not started"
        case .complete, .interrupted:
            return summary.failed > 0 ? failed : "\(summary.unfinished) of \(count) never finished"
        }
    }

    var recoverySuggestion: String? {
        let rest = keepsFinished ? ": finished stores are only checked" : ""
        let names =
            switch list {
            case .none: " --report records the result of each store."
            case .merged: " --list names each store that isn't done."
            case .listed: ""
            case .report(let path):
                " 'fleet report --list \(path.shellPath)' names each store that isn't done."
            }
        let again = "Fix the cause, and run the command again\(rest).\(names)"
        let wrongKey = summary.failures.first { $0.error.code == "wrongKey" }
        guard keysGoByNames, let wrongKey else { return again }
        return """
            \(again)
            Each key goes by its store's name, such as '\(wrongKey.store)'. If these are not the \
            names with which the keys were made, --name-from must name the folder of that time.
            """
    }

    var code: ErrorCode {
        switch end {
        case .canary: ErrorCode("canaryFailed", .failed)
        case .failures: ErrorCode("tooManyFailures", .failed)
        case .complete, .interrupted:
            if isUnsound {
                ErrorCode("verificationFailed", .verificationFailed)
            } else if summary.failed > 0 {
                ErrorCode("storesFailed", .failed)
            } else {
                ErrorCode("storesUnfinished", .failed)
            }
        }
    }
}
