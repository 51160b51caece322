import Foundation
import TestSupport

/// Judges the states in which cuts leave the disk in one recorded run.
package struct Campaign {
    /// A state that should not be.
    package struct Finding: Sendable {
        package let cut: Cut
        package let reason: String
        /// What SQLCipher alone makes of the state.
        package let withoutLibrary: String
    }

    package struct Report: Sendable {
        package let scenario: String
        package let operationCount: Int
        package let syncCount: Int
        package var madeCount = 0
        /// How many of them were judged: the others were the same as one that was.
        package var judgedCount = 0
        package var repeatedCount = 0
        package var badCount = 0
        package var versions: [String] = []
        /// A few of the bad states, one for each reason.
        package var findings: [Finding] = []
    }

    /// What became of the run in which one synchronization did nothing.
    ///
    /// In 77 runs of the commands, 473 synchronizations were ignored one by one. In 279 cases a bad
    /// state was found. The others did no harm in that run, but are needed in another one, or SQLite
    /// makes them by itself:
    ///
    /// - a journal's pages, before their count: in a new journal, the checksums are enough. Found where
    ///   the journal is kept for the next step (`DurableCommits`).
    /// - the header of a log: nothing follows a new log's header. Found in `migrate-restart`.
    /// - a commit in the log, and the folder after a commit: the next commit, or closing the database,
    ///   covers it. Found in `migrate-open-*`, where the app stays open.
    /// - the log, before it is moved into the file: its commits were synchronized. Found in
    ///   `*-unsynchronized`, after a program with `synchronous = NORMAL` (`LockedSource`).
    /// - the file, after a checkpoint: the log has everything until it is begun anew. Found in nearly
    ///   all other runs.
    /// - the folder, with a journal or log that isn't new. Found with new ones.
    /// - the folder, before a new file takes a database's place, if there was no journal to remove.
    ///   Found in `rekey-removed` (`LockedFile`).
    /// - the folder, after `migrate --backup`: the first step's journal covers it. Found in
    ///   `migrate-backup-log`.
    /// - a hot journal that is undone: it was on the disk. The first page's empty journal, twice: both
    ///   times it is the same header (`ConnectionSetup`). The draft of `schema-load`: only its last
    ///   commit counts (`NewDatabase`).
    package struct IgnoredSync: Sendable {
        package let index: Int
        /// The file and the functions that asked for it, outwards.
        package let place: String
        /// How many operations only it brings to the disk.
        package let coveredCount: Int
        package var judgedCount = 0
        package var finding: Finding?
    }

    private let scenario: Scenario
    private let place: Place
    private let recording: Recording
    private let judge: Judge
    private let witness: Judge
    private let folder: TemporaryMemory
    /// What is legal at each prefix: the contents that a process that is killed may leave there or
    /// before, but not before the last time that it said that something is done.
    private var legal: [Set<String>] = []
    private var final = ""
    private var seen: Set<Int> = []
    /// Whether a state is sound if SQLCipher alone finds it so: where it is the disk that is tried
    /// out, what the library refuses without need would hide what the disk does.
    private var asksWitness = false
    package private(set) var report: Report

    /// Reads a recording, and judges what is left where the process is killed instead: those are
    /// the contents that a cut may leave.
    package init(_ scenario: Scenario, in place: Place) throws {
        self.scenario = scenario
        self.place = place
        recording = try scenario.recording(in: place)
        folder = try TemporaryMemory()
        judge = try Judge(scenario, place, folder: folder.path)
        witness = try Judge(scenario, place, folder: folder.path, byLibrary: false)
        report = Report(
            scenario: scenario.name,
            operationCount: recording.operations.count,
            syncCount: recording.operations.count(where: \.isSync)
        )
        try judgeKills()
        checkClearText()
    }

    private mutating func judgeKills() throws {
        var disk = CutDisk(recording)
        var known: [String] = []
        var sinceSaid: Set<String> = []
        var verdicts: [Int: String] = [:]
        for prefix in 0...recording.operations.count {
            disk.move(to: prefix)
            let files = disk.files(.nothing)
            let hash = Self.hash(files, disk.keys)
            if prefix > 0, recording.operations[prefix - 1].saysDone { sinceSaid = [] }
            do {
                let version = try verdicts[hash] ?? judge.version(of: files, keyStore: disk.keys)
                verdicts[hash] = version
                if !known.contains(version) { known.append(version) }
                sinceSaid.insert(version)
                final = version
            } catch {
                add(Cut(prefix: prefix, loss: .nothing), "\(error)", files, disk.keys)
                // What a kill leaves and the library refuses may still be what was there.
                if let version = try? witness.version(of: files, keyStore: disk.keys) {
                    if !known.contains(version) { known.append(version) }
                    sinceSaid.insert(version)
                }
            }
            legal.append(sinceSaid)
        }
        report.versions = known
        if known.count != scenario.versionCount {
            report.badCount += 1
            report.findings.append(
                Finding(
                    cut: Cut(prefix: recording.operations.count, loss: .nothing),
                    reason: "\(known.count) contents instead of \(scenario.versionCount)",
                    withoutLibrary: ""
                )
            )
        }
    }

    /// Rows in the clear in a file that the run made, unless it was to make such a file.
    private mutating func checkClearText() {
        guard !scenario.name.hasPrefix("decrypt") else { return }
        let marker = Data(Scenario.marker.utf8)
        let clear = Set(
            recording.initialContents.filter { Data($0.value).range(of: marker) != nil }.keys
        )
        for (index, operation) in recording.operations.enumerated() {
            guard case .write(let file, _, let bytes) = operation.kind, !clear.contains(file),
                Data(bytes).range(of: marker) != nil
            else { continue }
            // What keeps a plaintext original writes it once more, as it was asked to.
            if scenario.name == "encrypt-keep" { continue }
            report.badCount += 1
            report.findings.append(
                Finding(
                    cut: Cut(prefix: index, loss: .nothing),
                    reason: "clear text is written to file \(file)",
                    withoutLibrary: ""
                )
            )
            return
        }
    }

    private static func hash(_ files: [String: [UInt8]], _ keys: [UInt8]) -> Int {
        var hasher = Hasher()
        for (name, bytes) in files.sorted(by: { $0.key < $1.key }) {
            hasher.combine(name)
            bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        }
        keys.withUnsafeBytes { hasher.combine(bytes: $0) }
        return hasher.finalize()
    }

    // MARK: - States

    /// Judges the states of all prefixes.
    ///
    /// - Parameters:
    ///   - randomCount: How many random sets of pending operations are lost at each prefix.
    ///   - most: At most so many states are judged, spread over the run; `nil`: all.
    package mutating func run(randomCount: Int, seed: UInt64, most: Int? = nil) {
        var disk = CutDisk(recording)
        var cuts: [(prefix: Int, losses: [Cut.Loss])] = []
        for prefix in 0...recording.operations.count {
            disk.move(to: prefix)
            cuts.append((prefix, disk.losses(randomCount: randomCount, seed: seed)))
        }
        let total = cuts.reduce(0) { $0 + $1.losses.count }
        var generator = SeededGenerator(seed: seed)
        for (prefix, losses) in cuts {
            disk.move(to: prefix)
            for loss in losses {
                // A sample takes each with the same likelihood.
                if let most, total > most,
                    Int(generator.next() % UInt64(total)) >= most
                {
                    continue
                }
                report.madeCount += 1
                judge(Cut(prefix: prefix, loss: loss), disk)
            }
        }
    }

    /// Judges one state, unless the same was judged before.
    private mutating func judge(_ cut: Cut, _ disk: CutDisk) {
        for keys in scenario.losesKeys ? disk.everyKeys : [disk.keys] {
            guard let reason = fault(cut, disk, keys) else { continue }
            add(cut, reason, disk.files(cut.loss), keys)
        }
    }

    /// What is wrong with a state; `nil` for nothing, and if the same state was judged before.
    private mutating func fault(_ cut: Cut, _ disk: CutDisk, _ keys: [UInt8]) -> String? {
        let files = disk.files(cut.loss)
        let legal = legal[cut.prefix]
        let isDone = cut.prefix > recording.doneIndex
        let hash = Self.hash(files, keys) ^ recording.saidCount(before: cut.prefix)
        guard !seen.contains(hash) else { return nil }
        report.judgedCount += 1
        do {
            let version = try judge.version(of: files, keyStore: keys)
            guard legal.contains(version) else {
                throw Fault(
                    isDone
                        ? "it was said to be done, and there is \(version)"
                        : "neither the old content nor the new: \(version)"
                )
            }
            seen.insert(hash)
            return nil
        } catch {
            if asksWitness, let version = try? witness.version(of: files, keyStore: keys),
                legal.contains(version)
            {
                seen.insert(hash)
                return nil
            }
            // Where a synchronization is ignored, the next one may lead to the same bad state.
            if cut.ignored == nil { seen.insert(hash) }
            return "\(error)"
        }
    }

    private mutating func add(
        _ cut: Cut,
        _ reason: String,
        _ files: [String: [UInt8]],
        _ keys: [UInt8]
    ) {
        report.badCount += 1
        guard !report.findings.contains(where: { Self.kind($0.reason) == Self.kind(reason) })
        else { return }
        let alone: String
        do {
            alone = try witness.version(of: files, keyStore: keys)
        } catch {
            alone = "\(error)"
        }
        report.findings.append(Finding(cut: cut, reason: reason, withoutLibrary: alone))
    }

    /// A reason without numbers, digests and lists of pages.
    private static func kind(_ reason: String) -> String {
        reason.replacing(#/#[0-9a-z]+|\[[^\]]*\]|[0-9]+/#, with: "")
    }

    /// The files of one state.
    package func files(_ cut: Cut) -> [String: [UInt8]] {
        var disk = CutDisk(recording, ignoring: cut.ignored)
        disk.move(to: cut.prefix)
        return disk.files(cut.loss)
    }

    // MARK: - Repeating

    /// Runs the command again on some states: it must come to the same end, and remove what the
    /// first run left.
    ///
    /// - Parameter count: How many states.
    package mutating func `repeat`(_ count: Int, seed: UInt64) throws {
        guard scenario.repeats else { return }
        var disk = CutDisk(recording)
        var generator = SeededGenerator(seed: seed ^ 0x5265_7065_6174)
        for _ in 0..<count {
            let prefix = Int(generator.next() % UInt64(recording.doneIndex + 1))
            disk.move(to: prefix)
            let losses = disk.losses(randomCount: 4, seed: seed)
            let loss = losses[Int(generator.next() % UInt64(losses.count))]
            let files = disk.files(loss)
            // Only a state before the end wants another run.
            guard let version = try? judge.version(of: files, keyStore: disk.keys),
                version != final
            else { continue }
            report.repeatedCount += 1
            try Place.fill(place.disk, files)
            try Data(disk.keys).write(to: URL(fileURLWithPath: place.keyStore))
            let result = try TestSupport.run(
                builtExecutable(scenario.program),
                scenario.arguments(place),
                environment: Scenario.environment,
                newSession: true
            )
            let reason: String?
            if result.status != 0 {
                reason = "the next run fails: \(result.stderr)"
            } else {
                let names = try FileManager.default.contentsOfDirectory(atPath: place.disk)
                let drafts = ["-converting-", "-writing-"]
                let left = names.filter { name in drafts.contains { name.contains($0) } }
                reason = left.isEmpty ? nil : "the next run leaves \(left)"
            }
            if let reason {
                add(Cut(prefix: prefix, loss: loss), reason, files, disk.keys)
            }
        }
    }

    // MARK: - Ignored Synchronizations

    /// Ignores one synchronization after the other, and looks for a state that shows it.
    ///
    /// First, what the synchronization covers is lost, and what came after it is kept. Then anything
    /// is lost as in other campaigns, and at last more and more random sets are. There is nothing
    /// more to look for once a later synchronization covers the same.
    ///
    /// - Parameters:
    ///   - randomCount: How many random sets of each kind are lost at each prefix at first.
    ///   - most: About so many states are judged for each, if there are so many.
    ///   - count: Only so many are ignored, from the first on; `nil`: all.
    package mutating func ignoreSyncs(
        randomCount: Int,
        seed: UInt64,
        most: Int,
        first count: Int? = nil
    ) -> [IgnoredSync] {
        asksWitness = true
        // What is bad in any case shows nothing.
        run(randomCount: 2, seed: seed, most: most)
        let before = report
        defer { (report, asksWitness) = (before, false) }
        let names = fileNames()
        let syncs = recording.operations.indices.filter { recording.operations[$0].isSync }
        return syncs.prefix(count ?? syncs.count).map { index in
            let disk = CutDisk(recording, ignoring: index)
            var result = IgnoredSync(
                index: index,
                place: place(of: index, names),
                coveredCount: disk.uncovered.count
            )
            report.judgedCount = 0
            result.finding = finding(in: disk, without: index, randomCount, seed, most)
            result.judgedCount = report.judgedCount
            return result
        }
    }

    /// The first bad state after an ignored synchronization.
    private mutating func finding(
        in disk: CutDisk,
        without ignored: Int,
        _ randomCount: Int,
        _ seed: UInt64,
        _ most: Int
    ) -> Finding? {
        var moving = disk
        let window = Array(
            ((ignored + 1)...recording.operations.count).prefix { prefix in
                moving.move(to: prefix)
                return moving.hasPendingUncovered
            }
        )
        guard !window.isEmpty else { return nil }
        var generator = SeededGenerator(seed: seed &+ UInt64(ignored))
        let maximumRounds = 40
        for round in 0..<maximumRounds where round < 2 || report.judgedCount < most {
            var disk = disk
            for prefix in window {
                disk.move(to: prefix)
                let seed = seed &+ UInt64(round)
                var losses =
                    switch round {
                    case 0: disk.lossesOfUncovered(randomCount: randomCount, seed: seed)
                    case 1: disk.losses(randomCount: randomCount, seed: seed)
                    default: disk.randomLosses(randomCount: randomCount, seed: seed)
                    }
                // A large transaction has more of them than can be judged. The first is the plainest.
                if losses.count > 1 { losses[1...].shuffle(using: &generator) }
                for loss in losses.prefix(3 + most / window.count) {
                    let cut = Cut(prefix: prefix, loss: loss, ignored: ignored)
                    guard let reason = fault(cut, disk, disk.keys) else { continue }
                    return Finding(cut: cut, reason: reason, withoutLibrary: "")
                }
            }
        }
        return nil
    }

    /// The name that each file had first, by its number.
    private func fileNames() -> [Int: String] {
        var names: [Int: String] = [:]
        for (name, file) in recording.initialEntries { names[file] = name }
        for operation in recording.operations {
            guard case .create(let file, let name) = operation.kind else { continue }
            // A draft's name has random digits.
            names[file] = name.replacing(#/[0-9a-f]{8,}/#, with: "*")
        }
        return names
    }

    /// What was synchronized, and who asked for it: SQLite's functions, and the first of ours.
    private func place(of index: Int, _ names: [Int: String]) -> String {
        let operation = recording.operations[index]
        let sqlite = operation.stack.dropFirst().prefix { !$0.hasPrefix("$s") }.map {
            String($0.prefix { $0 != "." })
        }
        let ours = operation.stack.first {
            $0.contains("MigrationKit") || $0.contains("PowerProbe") || $0.contains("FileLock")
        }
        let what =
            switch operation.kind {
            case .syncFile(let file, _): names[file] ?? "file \(file)"
            default: "folder"
            }
        return ([what] + sqlite.prefix(8) + [ours ?? "-"]).joined(separator: " < ")
    }
}

/// A folder in memory, which goes with its last owner.
package final class TemporaryMemory: Sendable {
    package let path: String

    package init() throws {
        var template = Array("/dev/shm/mk-power-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
        path = String(cString: made)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}
