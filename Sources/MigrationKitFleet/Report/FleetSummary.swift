import MigrationKitCommon

/// What became of many stores, in numbers. Its size doesn't depend on how many there are.
public struct FleetSummary: Sendable {
    /// A store that failed.
    public struct Failure: Sendable {
        /// The store.
        public let store: String
        /// Why.
        public let error: FleetRecord.Failure
    }

    /// How many stores there are.
    public private(set) var count = 0
    /// How many are done.
    public private(set) var done = 0
    /// How many failed.
    public private(set) var failed = 0
    /// How many were interrupted, not started, or never finished.
    public private(set) var unfinished = 0
    /// The first of these, at most ten.
    public private(set) var unfinishedStores: [String] = []
    /// How many migrations were applied.
    public private(set) var applied = 0
    /// How many migrations were undone.
    public private(set) var undone = 0
    /// In how many stores a migration was applied or undone.
    public private(set) var changed = 0
    /// How many stores are known to have a pending migration.
    public private(set) var pending = 0
    /// Of how many stores it is known whether they have one. A backup doesn't look.
    public private(set) var pendingKnown = 0
    /// How many stores are not done, and may have one: they couldn't be opened, or were not started.
    public private(set) var pendingUnknown = 0
    /// How many stores there are whose schema differs, or in which a check found something.
    public private(set) var withFindings = 0
    /// The first of these with their first finding, at most ten.
    public private(set) var findings: [(store: String, text: String)] = []
    /// How many stores are at which version; `nil` for those with no migration, or not known.
    public private(set) var versions: [String?: Int] = [:]
    /// How many stores failed, by the code of the error.
    public private(set) var causes: [String: Int] = [:]
    /// The first stores that failed, at most twenty.
    public private(set) var failures: [Failure] = []
    /// The slowest stores, at most five.
    public private(set) var slowest: [(store: String, seconds: Double)] = []

    /// The summary of no store.
    public init() {}

    /// Adds what became of a store.
    public mutating func add(_ record: FleetRecord) {
        count += 1
        switch record.outcome {
        case .done: done += 1
        case .failed: failed += 1
        case .planned, .interrupted, .notStarted:
            unfinished += 1
            if unfinishedStores.count < 10 { unfinishedStores.append(record.store) }
        }
        applied += record.applied ?? 0
        undone += record.undone ?? 0
        if record.applied ?? 0 > 0 || record.undone ?? 0 > 0 { changed += 1 }
        if let pending = record.pending {
            pendingKnown += 1
            if pending > 0 { self.pending += 1 }
        } else if record.outcome != .done {
            pendingUnknown += 1
        }
        if let finding = record.findings?.first {
            withFindings += 1
            if findings.count < 10 { findings.append((record.store, finding)) }
        }
        if record.hasVersion { versions[record.to ?? record.from, default: 0] += 1 }
        if let error = record.error {
            causes[error.code, default: 0] += 1
            if failures.count < 20 {
                failures.append(Failure(store: record.store, error: error))
            }
        }
        if let seconds = record.seconds { addTime(record.store, seconds) }
    }

    /// Adds stores of which nothing is known but that there are so many.
    mutating func addMissing(_ number: Int) {
        count += number
        unfinished += number
        pendingUnknown += number
    }

    private mutating func addTime(_ store: String, _ seconds: Double) {
        guard slowest.count < 5 || seconds > slowest[slowest.count - 1].seconds else { return }
        let place = slowest.firstIndex { $0.seconds < seconds } ?? slowest.endIndex
        slowest.insert((store, seconds), at: place)
        if slowest.count > 5 { slowest.removeLast() }
    }
}

extension FleetSummary: Encodable {
    /// Encodes the numbers, and the stores that are named.
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "stores": count, "done": done, "failed": failed, "unfinished": unfinished,
            "applied": applied, "undone": undone, "changed": changed, "pending": pending,
            "pendingUnknown": pendingUnknown, "withFindings": withFindings,
            "versions": versionsByCount.map { version, count -> JSONFields in
                ["version": version, "stores": count]
            },
            "causes": causesByCount.map { code, count -> JSONFields in
                ["code": code, "stores": count]
            },
            "failures": failures.map { failure -> JSONFields in
                [
                    "store": failure.store, "code": failure.error.code,
                    "message": failure.error.message,
                ]
            },
            "findings": findings.map { store, text -> JSONFields in
                ["store": store, "text": text]
            },
            "unfinishedStores": unfinishedStores,
            "slowest": slowest.map { store, seconds -> JSONFields in
                ["store": store, "seconds": seconds]
            },
        ])
    }

    /// The versions, beginning with the one that most stores have.
    package var versionsByCount: [(version: String?, count: Int)] {
        versions.map { (version: $0, count: $1) }
            .sorted { ($1.count, $0.version ?? "") < ($0.count, $1.version ?? "") }
    }

    /// The codes of errors, beginning with the one that most stores have.
    package var causesByCount: [(code: String, count: Int)] {
        causes.map { (code: $0, count: $1) }.sorted { ($1.count, $0.code) < ($0.count, $1.code) }
    }
}
