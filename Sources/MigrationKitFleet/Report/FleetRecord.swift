/// A line of a fleet's report: what became of one store.
///
/// It has nothing of a store's content, and no key.
public struct FleetRecord: Codable, Hashable, Sendable {
    /// What became of the store.
    public enum Outcome: String, Codable, Sendable {
        /// It is to be worked on. A run begins with such a line for each store, so that the report
        /// of a run that was killed names those that it didn't reach.
        case planned
        /// The work is done.
        case done
        /// The work failed.
        case failed
        /// The run was cancelled during the work. What was not committed is undone.
        case interrupted
        /// The run was over before.
        case notStarted
    }

    /// Why the work failed.
    public struct Failure: Codable, Hashable, Sendable {
        /// A word to compare, as in the tool's JSON documents.
        public var code: String
        /// What is wrong, in one line.
        public var message: String
        /// The exit status of the same command for this store alone.
        public var exit: Int32

        /// - Parameters:
        ///   - code: A word to compare.
        ///   - message: What is wrong.
        ///   - exit: The exit status.
        public init(code: String, message: String, exit: Int32) {
            self.code = code
            self.message = message
            self.exit = exit
        }
    }

    /// The version of this format.
    public var schemaVersion = 1
    /// The command, such as `migrate`.
    public var command: String

    /// Whether the command looks at versions. The others copy and replace whole files.
    var hasVersion: Bool {
        !["backup", "restore", "restore-dry-run", "rekey", "rekey-dry-run"].contains(command)
    }

    /// The store's name.
    public var store: String
    /// The store's file.
    public var path: String
    /// The store's group.
    public var group: String?
    /// What became of it.
    public var outcome: Outcome
    /// The last applied migration before.
    public var from: String?
    /// The last applied migration now.
    public var to: String?
    /// How many migrations were applied.
    public var applied: Int?
    /// How many migrations were undone.
    public var undone: Int?
    /// How many are pending; `nil` if that isn't known, as of a store that couldn't be opened.
    public var pending: Int?
    /// Where the schema differs from that of the applied migrations, or what a check found.
    public var findings: [String]?
    /// The backup that was made.
    public var output: String?
    /// Where the file is kept that was replaced.
    public var original: String?
    /// How long it took.
    public var seconds: Double?
    /// Why it failed.
    public var error: Failure?
    /// When this was so, in ISO 8601.
    public var time: String
    /// The part of the fleet that the run worked on; `nil` for all of it.
    public var shard: Shard?

    /// A part of a fleet, by which a part without a report is noticed.
    public struct Shard: Codable, Hashable, Sendable {
        /// Which part it is, from 1.
        public var number: Int
        /// How many parts there are.
        public var count: Int
        /// How many stores are in this part.
        public var stores: Int
        /// How many stores there are in all parts.
        public var allStores: Int

        /// - Parameters:
        ///   - shard: The part.
        ///   - stores: How many stores are in it.
        ///   - allStores: How many stores there are in all parts.
        public init(_ shard: StoreShard, stores: Int, allStores: Int) {
            number = shard.number
            count = shard.count
            self.stores = stores
            self.allStores = allStores
        }
    }

    /// - Parameters:
    ///   - command: The command.
    ///   - store: The store.
    ///   - outcome: What became of it.
    ///   - time: When this was so, in ISO 8601.
    public init(command: String, store: FleetStore, outcome: Outcome, time: String) {
        self.command = command
        self.store = store.name
        path = store.path
        group = store.group
        self.outcome = outcome
        self.time = time
    }
}
