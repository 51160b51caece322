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
    package struct IgnoredSync: Sendable {
        package let index: Int
        /// The functions that asked for it, outwards.
        package let place: String
        package var judgedCount = 0
        package var finding: Finding?
    }

    private let scenario: Scenario
    private let place: Place
    private let recording: Recording
    private let judge: Judge
    private let witness: Judge
    private let folder: TemporaryMemory
    /// What is legal at each prefix: the contents that a process that is killed may leave.
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
        var verdicts: [Int: String] = [:]
        for prefix in 0...recording.operations.count {
            disk.move(to: prefix)
            let files = disk.files(.nothing)
            let hash = Self.hash(files, disk.keys)
            do {
                let version = try verdicts[hash] ?? judge.version(of: files, keyStore: disk.keys)
                verdicts[hash] = version
                if !known.contains(version) { known.append(version) }
                final = version
            } catch {
                add(Cut(prefix: prefix, loss: .nothing), "\(error)", files, disk.keys)
                // What a kill leaves and the library refuses may still be what was there.
                if let version = try? witness.version(of: files, keyStore: disk.keys),
                    !known.contains(version)
                {
                    known.append(version)
                }
            }
            legal.append(Set(known))
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
    @discardableResult
    private mutating func judge(_ cut: Cut, _ disk: CutDisk) -> Bool {
        let files = disk.files(cut.loss)
        let keys = disk.keys
        let isDone = cut.prefix > recording.doneIndex
        guard seen.insert(Self.hash(files, keys) ^ (isDone ? 1 : 0)).inserted else { return true }
        report.judgedCount += 1
        do {
            let version = try judge.version(of: files, keyStore: keys)
            if isDone, version != final {
                throw Fault("the command was done, and there is \(version)")
            }
            if !legal[cut.prefix].contains(version) {
                throw Fault("neither the old content nor the new: \(version)")
            }
            return true
        } catch {
            if asksWitness, let version = try? witness.version(of: files, keyStore: keys),
                isDone ? version == final : legal[cut.prefix].contains(version)
            {
                return true
            }
            add(cut, "\(error)", files, keys)
            return false
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
        var disk = CutDisk(recording)
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
                let drafts = ["-converting-", "-loading-", "-writing"]
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
    package mutating func ignoreSyncs(randomCount: Int, seed: UInt64) -> [IgnoredSync] {
        let before = report
        asksWitness = true
        defer { (report, asksWitness) = (before, false) }
        var results: [IgnoredSync] = []
        for (index, operation) in recording.operations.enumerated() where operation.isSync {
            report = before
            report.findings = []
            report.judgedCount = 0
            var result = IgnoredSync(index: index, place: Self.place(of: operation))
            var disk = CutDisk(recording, ignoring: index)
            search: for prefix in (index + 1)...recording.operations.count {
                disk.move(to: prefix)
                for loss in disk.losses(randomCount: randomCount, seed: seed) {
                    guard !judge(Cut(prefix: prefix, loss: loss), disk) else { continue }
                    result.finding = report.findings.first
                    break search
                }
            }
            result.judgedCount = report.judgedCount
            results.append(result)
        }
        return results
    }

    /// Who asked for a synchronization: SQLite's function, and the first of ours.
    private static func place(of operation: Operation) -> String {
        let sqlite = operation.stack.dropFirst().prefix { !$0.hasPrefix("$s") }.map {
            String($0.prefix { $0 != "." })
        }
        let ours = operation.stack.first {
            $0.contains("MigrationKit") || $0.contains("PowerProbe")
        }
        let what =
            switch operation.kind {
            case .syncFile(let file, _): "file \(file)"
            default: "folder"
            }
        return ([what] + sqlite.prefix(6) + [ours ?? "-"]).joined(separator: " < ")
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
