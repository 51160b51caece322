import Foundation
import TestSupport

/// Runs a command again and again, each time with another system call on its folder failing.
package struct FailingCampaign {
    /// A run that should have ended otherwise.
    package struct Finding: Sendable {
        package let call: FailingCall
        package let reason: String
        package let output: String
    }

    package struct Report: Sendable {
        package let scenario: String
        /// How many calls one run makes.
        package var callCount = 0
        package var runCount = 0
        /// Runs that came to their end nevertheless.
        package var doneCount = 0
        package var refusedCount = 0
        /// Runs in which the call wasn't made.
        package var missedCount = 0
        package var repeatedCount = 0
        package var badCount = 0
        /// A few of the bad runs, one for each reason and kind of call.
        package var findings: [Finding] = []
        /// The failing calls that the command did not mind.
        package var tolerated: [FailingCall] = []
    }

    private let scenario: Scenario
    private let place: Place
    private let judge: Judge
    private let folder: TemporaryMemory
    private let library: FailingLibrary
    private let before: [String: [UInt8]]
    private let keysBefore: [UInt8]
    private let versions: [String]
    private let calls: [NotedCall]
    /// What is not synchronized when nothing has failed.
    private let pending: Set<String>
    package private(set) var report: Report

    /// Reads a recorded scenario, and runs the command once without a failure.
    ///
    /// What may be left by a run are the contents that a kill may leave.
    package init(_ scenario: Scenario, in place: Place, library: FailingLibrary) throws {
        self.scenario = scenario
        self.place = place
        self.library = library
        folder = try TemporaryMemory()
        judge = try Judge(scenario, place, folder: folder.path)
        before = try Place.files(in: place.before)
        keysBefore = try place.read("keys-before")
        versions = try Campaign(scenario, in: place).report.versions
        report = Report(scenario: scenario.name)
        try Self.restore(place, before, keysBefore)
        let result = try Self.run(scenario, place, library, nil)
        guard result.process.status == 0 else { throw RecordingError.failed(result.process) }
        calls = result.calls
        pending = NotedCall.pending(in: calls, before: before.keys)
        report.callCount = calls.count
        let version = try judge.version(
            of: Place.files(in: place.disk),
            keyStore: place.read("keys")
        )
        guard version == versions.last else {
            throw Fault("another end without a failure: \(version)")
        }
    }

    // MARK: - Calls

    /// Every call of the run, in each way in which it can fail.
    ///
    /// The first are of different kinds, files and failures, so that a part is a fair sample; the
    /// same seed gives the same order.
    package func failingCalls(seed: UInt64) -> [FailingCall] {
        var counts: [String: Int] = [:]
        var groups: [String: [FailingCall]] = [:]
        for call in calls {
            let ordinal = (counts["\(call.kind) \(call.name)"] ?? 0) + 1
            counts["\(call.kind) \(call.name)"] = ordinal
            let failures = FailingCall.failures(of: call.kind, creates: call.more == "creates")
            for (failure, stays) in failures {
                let failing = FailingCall(
                    kind: call.kind,
                    name: call.name,
                    ordinal: ordinal,
                    failure: failure,
                    stays: stays
                )
                groups["\(call.kind) \(call.name) \(failing.failureWord) \(stays)", default: []]
                    .append(failing)
            }
        }
        var generator = SeededGenerator(seed: seed)
        var ranked: [(rank: Int, order: UInt64, call: FailingCall)] = []
        for (_, group) in groups.sorted(by: { $0.key < $1.key }) {
            for (rank, call) in group.shuffled(using: &generator).enumerated() {
                ranked.append((rank, generator.next(), call))
            }
        }
        ranked.sort { ($0.rank, $0.order) < ($1.rank, $1.order) }
        return ranked.map(\.call)
    }

    // MARK: - Runs

    private static func restore(_ place: Place, _ files: [String: [UInt8]], _ keys: [UInt8]) throws
    {
        try Place.fill(place.disk, files)
        try Data(keys).write(to: URL(fileURLWithPath: place.keyStore))
    }

    private static func run(
        _ scenario: Scenario,
        _ place: Place,
        _ library: FailingLibrary,
        _ call: FailingCall?
    ) throws -> (process: ProcessResult, calls: [NotedCall]) {
        let log = place.path + "/calls"
        unlink(log)
        var environment = Scenario.environment
        environment["LD_PRELOAD"] = library.path
        environment["FAILING_ROOT"] = place.disk
        environment["FAILING_LOG"] = log
        environment.merge(call?.environment ?? [:]) { $1 }
        let result = try TestSupport.run(
            builtExecutable(scenario.program),
            scenario.arguments(place),
            environment: environment,
            newSession: true,
            // A lock is waited for several times, 30 seconds each.
            within: 200
        )
        let text = FileManager.default.contents(atPath: log) ?? Data()
        return (result, NotedCall.all(in: String(decoding: text, as: UTF8.self)))
    }

    /// Lets one call fail, and judges how the run ended.
    ///
    /// - Returns: Whether all is well.
    @discardableResult
    package mutating func run(_ call: FailingCall) throws -> Bool {
        try Self.restore(place, before, keysBefore)
        let (result, calls) = try Self.run(scenario, place, library, call)
        report.runCount += 1
        // A thread may have taken another way.
        guard calls.contains(where: { $0.result == .failing }) else {
            report.missedCount += 1
            return true
        }
        do {
            try judge(result, calls, call)
            return true
        } catch {
            report.badCount += 1
            let reason = "\(error)"
            let isKnown = report.findings.contains {
                $0.call.kind == call.kind && $0.call.name == call.name
                    && Self.kind($0.reason) == Self.kind(reason)
            }
            if !isKnown {
                report.findings.append(
                    Finding(call: call, reason: reason, output: "\(result)")
                )
            }
            return false
        }
    }

    /// A reason without numbers and digests.
    private static func kind(_ reason: String) -> String {
        reason.replacing(#/#[0-9a-z]+|\[[^\]]*\]|[0-9]+/#, with: "")
    }

    // MARK: - Judging

    private mutating func judge(
        _ result: ProcessResult,
        _ calls: [NotedCall],
        _ call: FailingCall
    ) throws {
        let files = try Place.files(in: place.disk)
        let keys = try place.read("keys")
        // Most runs leave what they found.
        let isUntouched = files == before && keys == keysBefore
        let version = try isUntouched ? versions[0] : judge.version(of: files, keyStore: keys)
        guard versions.contains(version) else {
            throw Fault("neither the old content nor the new: \(version)")
        }
        guard result.status != 0 else { return try judgeDone(version, calls, call) }
        report.refusedCount += 1
        try judgeRefusal(result, version, call)
        if !isUntouched, version != versions.last, scenario.repeats || version == versions[0] {
            try runAgain()
        }
    }

    private mutating func judgeDone(
        _ version: String,
        _ calls: [NotedCall],
        _ call: FailingCall
    ) throws {
        report.doneCount += 1
        report.tolerated.append(call)
        guard version == versions.last else {
            throw Fault("the command says that it is done, and there is \(version)")
        }
        var missing = NotedCall.pending(in: calls, before: before.keys).subtracting(pending)
        // A draft that comes back is named by `inspect`, and removed by the next run.
        missing = missing.filter { !$0.hasPrefix("unlink .") }
        // Where the key is kept is written down for people, and nothing depends on it.
        if call.kind == "sync", call.name == "." {
            missing = missing.filter { !$0.contains(".db-key-record") }
        }
        // SQLite passes over a folder that can't be opened or synchronized, with its new journal or
        // log; one that may not be read isn't synchronized by this package either.
        if ["open", "sync"].contains(call.kind), call.name == "." {
            missing = missing.filter { !$0.hasSuffix("-journal") && !$0.hasSuffix("-wal") }
            if call.kind == "open", call.failure == .error(EACCES) { missing = [] }
        }
        guard missing.isEmpty else {
            throw Fault("done, and not synchronized: \(missing.sorted())")
        }
    }

    private func judgeRefusal(_ result: ProcessResult, _ version: String, _ call: FailingCall)
        throws
    {
        guard let status = result.status else {
            throw Fault("ended by signal \(result.signal ?? 0)")
        }
        let words = result.stderr.split { " \n".contains($0) }.joined(separator: " ")
        guard !words.isEmpty else { throw Fault("exit \(status) without a message") }
        if words.contains("nothing has changed"), changesRows(version) {
            throw Fault("\"nothing has changed\", and there is \(version)")
        }
        if scenario.program == "migrationkit-cli" {
            guard Self.legalExits(call).contains(status) else { throw Fault("exit \(status)") }
        }
        // An app's own statements throw errors of GRDB's, those of a step name its file, and a
        // verification names the step.
        let isApps = ["DatabaseError.", "SQLStatementError."].contains(where: words.hasPrefix)
        guard !isApps, status != 2 else { return }
        let names = scenario.watched.map(\.name) + [call.name, place.disk]
        guard names.contains(where: words.contains) else {
            throw Fault("the message names no file")
        }
    }

    /// Whether the first of the files isn't as it was. A new file may hold nothing, or the empty ledger.
    private func changesRows(_ version: String) -> Bool {
        let first = [version, versions[0]].map {
            $0.prefixMatch(of: #/.*?#[0-9a-z]+/#)?.output ?? ""
        }
        let isEmpty = version.contains("key nothing") || version.contains(" 0 rows, steps ]")
        return first[0] != first[1] && !(versions[0].contains("absent") && isEmpty)
    }

    /// An input or output error, an output that can't be made, a refused permission.
    private static func legalExits(_ call: FailingCall) -> [Int32] {
        switch call.failure {
        case .error(EACCES): [73, 74, 77]
        // SQLite calls a page damaged that it can't read, and the schema is verified after a step.
        case .error(EIO) where call.kind == "read": [2, 73, 74]
        // SQLite takes most of these for a lock that another process holds.
        case _ where call.kind.hasSuffix("lock"): [73, 74, 75]
        // SQLite opens for reading what can't be opened for writing, and calls it read-only then.
        // So it does with a file that it can't look at by its name.
        case _ where ["open", "stat"].contains(call.kind): [73, 74, 77]
        default: [73, 74]
        }
    }

    /// The next run, on a disk that is well, must come to the end and remove all drafts.
    private mutating func runAgain() throws {
        report.repeatedCount += 1
        let result = try Self.run(scenario, place, library, nil).process
        guard result.status == 0 else { throw Fault("the next run fails: \(result)") }
        let files = try Place.files(in: place.disk)
        let version = try judge.version(of: files, keyStore: place.read("keys"))
        guard version == versions.last else {
            throw Fault("the next run ends otherwise: \(version)")
        }
        let left = files.keys.filter { name in
            ["-converting-", "-writing-"].contains { name.contains($0) }
        }
        guard left.isEmpty else { throw Fault("the next run leaves \(left.sorted())") }
    }
}

/// The library with which a program is started so that a call of it fails.
package struct FailingLibrary: Sendable {
    package let path: String

    /// Compiles the library.
    ///
    /// - Parameter folder: Where it is put.
    package init(in folder: String) throws {
        path = folder + "/failing-calls.so"
        let result = try TestSupport.run(
            "clang",
            [
                "-shared", "-fPIC", "-O1", "-o", path,
                PackageFolder.path("Tests/PowerCuts/FailingCalls/failing-calls.c"),
            ]
        )
        guard result.status == 0 else { throw RecordingError.failed(result) }
    }
}
