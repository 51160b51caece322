import Dispatch
import Foundation
import MigrationKit
import MigrationKitCommon
import MigrationKitSQLCipher

/// How the events of one kind of long operation read on a terminal.
protocol OperationProgress: Sendable {
    associatedtype Event: Sendable

    /// What is so after a signal has ended the operation, for people.
    static var endedState: String { get }

    /// What is so if the process ends at once, in the middle of something, for people.
    static var endedAtOnceState: String { get }

    /// Whether SQLite undoes everything that an end at once leaves. Then the first signal is enough.
    static var isUndoneBySQLite: Bool { get }

    /// Whether signals end the process as they usually do, since there is nothing to undo.
    static var endsAtOnce: Bool { get }

    mutating func note(_ event: Event)

    /// How far it is now; `nil` if there is nothing to show.
    var line: String? { get }
}

extension OperationProgress {
    static var endedState: String { "Nothing was changed." }
    static var endedAtOnceState: String { "Nothing is lost by it." }
    static var isUndoneBySQLite: Bool { false }
    static var endsAtOnce: Bool { false }
}

/// Shows how far a long operation is, and ends it by Ctrl-C and the other signals that ask a program
/// to end. A terminal has a line that changes; elsewhere, a line is written now and then.
final class ProgressDisplay<Progress: OperationProgress>: Sendable {
    private let state: Locked<Progress>
    private let context: CommandContext

    init(_ progress: Progress, in context: CommandContext) {
        state = Locked(progress)
        self.context = context
    }

    var progress: Progress { state.withLock { $0 } }

    /// Runs the operation. The line of progress is gone after it.
    ///
    /// - Parameter run: Gets the options with this display in them. It ends with a
    ///   `CancellationError` if it is asked to end.
    /// - Throws: ``Interruption`` if a signal came; everything else as it is.
    func watch<Options: OperationOptions, Result>(
        _ options: Options,
        _ run: (Options) throws -> Result
    ) throws -> Result where Options.Event == Progress.Event {
        let cancellation = Cancellation()
        var options = options
        options.cancellation = cancellation
        options.observer = { [self] event in
            state.withLock { progress in
                progress.note(event)
                context.showProgress(progress.line)
            }
        }
        defer { context.showProgress(nil) }
        let signals =
            context.endsOnSignals && !Progress.endsAtOnce
            ? EndingSignals(cancellation.cancel, stillRunning: insist) : nil
        defer { signals?.stop() }
        do {
            return try refreshing { try run(options) }
        } catch let error as CancellationError {
            guard let signal = signals?.received else { throw error }
            throw Interruption(signal: signal, state: Progress.endedState)
        }
    }

    /// Shows the line again and again: time goes by while nothing is reported.
    private func refreshing<Result>(_ body: () throws -> Result) throws -> Result {
        let showsLine = context.showsProgress
        guard showsLine || context.writesNotes else { return try body() }
        let queue = DispatchQueue(label: "MigrationKit.progress")
        let timer = DispatchSource.makeTimerSource(queue: queue)
        // In a log: after 5 s, 10, 20, 40, and then every minute.
        let (period, most) = showsLine ? (0.5, 0.5) : (5, 60)
        let interval = Locked(period)
        timer.schedule(deadline: .now() + period)
        timer.setEventHandler { [self, timer] in
            state.withLock { progress in
                guard let line = progress.line else { return }
                showsLine ? context.showProgress(line) : context.message(line.printable)
            }
            timer.schedule(deadline: .now() + interval.withLock { $0 })
            interval.withLock { $0 = min($0 * 2, most) }
        }
        timer.resume()
        defer {
            timer.cancel()
            // Nothing is shown after the end.
            queue.sync {}
        }
        return try body()
    }

    /// Ends the process if the signal has not ended the operation yet, or says that a second one
    /// does. With JSON, that isn't said: standard error holds the document of a failure alone.
    private func insist(_ signal: Int32) {
        if Progress.isUndoneBySQLite, let reportEnd = context.reportEnd {
            // SQLite is in the middle of an instruction, such as the one that empties a table.
            state.withLock { _ in
                context.showProgress(nil)
                let interruption = Interruption(signal: signal, state: Progress.endedAtOnceState)
                _exit(reportEnd(interruption))
            }
        }
        guard context.writesNotes else { return }
        let again = signal == SIGINT ? "Ctrl-C again" : "A second signal"
        state.withLock { _ in
            context.showProgress(nil)
            context.note(
                "still busy with something that can't be interrupted",
                ["\(again) ends the process at once. \(Progress.endedAtOnceState)"]
            )
        }
    }
}

extension CommandContext {
    /// Replaces the line of progress on a terminal; `nil` takes it away.
    func showProgress(_ line: String?) {
        guard showsProgress else { return }
        StandardError.showProgress(line)
    }
}

// MARK: - Run Estimate

/// The overall progress of a conversion, a backup, a restore or a salvage, and the remaining time.
///
/// Only the phases that write or read a file once report their progress in bytes. Comparing may look
/// at a part of the file again. Verifying reads what the pages left open, which may be nothing.
/// The progress of these phases is estimated from the time of the earlier ones.
struct RunEstimate {
    typealias Phase = ConversionEvent.Phase

    /// The expected phases, in order. A phase that is skipped counts as done.
    private let phases: [Phase]
    private var phase: Phase?
    private var done = 0
    private var total = 0
    private var start = 0.0
    /// The time and the weight of the finished phases.
    private var past = (seconds: 0.0, weight: 0.0)

    init(_ phases: [Phase]) {
        self.phases = phases
    }

    /// The relative durations of the phases.
    private static func weight(_ phase: Phase) -> Double {
        switch phase {
        case .searchingSalt: 0
        case .reading: 1
        case .copying: 4
        case .comparing: 2
        case .verifying: 1
        }
    }

    /// Records a progress report.
    ///
    /// - Parameter seconds: The time since the run began to work.
    mutating func note(_ phase: Phase, done: Int, total: Int, at seconds: Double) {
        if phase != self.phase {
            if let former = self.phase, Self.weight(former) > 0 {
                past.seconds += seconds - start
                past.weight += Self.weight(former)
            }
            self.phase = phase
            start = seconds
        }
        self.done = done
        self.total = total
    }

    /// The finished part of the phase, from 0 to 1.
    private func part(of phase: Phase, at seconds: Double) -> Double {
        let isToldByBytes = phase == .reading || phase == .copying || past.weight == 0
        let expected = past.weight > 0 ? past.seconds / past.weight * Self.weight(phase) : 0
        guard !isToldByBytes, expected > 0 else {
            return total > 0 ? min(1, Double(done) / Double(total)) : 0
        }
        let ratio = max(0, seconds - start) / expected
        // If a phase takes longer than expected, its progress approaches the end without reaching
        // it.
        return ratio < 0.97 ? ratio : 1 - 0.97 * 0.03 / ratio
    }

    /// The finished part of the whole, from 0 to 1, and how many seconds are left, if that is
    /// known.
    func state(at seconds: Double) -> (fraction: Double, left: Int?) {
        guard let phase else { return (0, nil) }
        let before = phases.prefix { $0 != phase }.reduce(0) { $0 + Self.weight($1) }
        let whole = phases.reduce(0) { $0 + Self.weight($1) }
        let current = Self.weight(phase) * part(of: phase, at: seconds)
        guard phases.contains(phase), whole > 0 else { return (0, nil) }
        let fraction = (before + current) / whole
        let (elapsed, weight) = (past.seconds + seconds - start, past.weight + current)
        guard elapsed >= 1, weight > 0.02 * whole else { return (fraction, nil) }
        let left = elapsed / weight * (whole - before - current)
        return (fraction, max(1, Int(left.rounded(.up))))
    }

    /// `copying 61.7 of 512.0 MB, 12 % of all, 14 s left`; `nil` before the first progress report.
    func line(at seconds: Double) -> String? {
        switch phase {
        case nil: return nil
        // This phase counts attempts.
        case .searchingSalt: return "looking for the salt: \(done) of \(total)"
        case .reading?, .copying?, .comparing?, .verifying?: break
        }
        let (fraction, left) = state(at: seconds)
        let isToldByBytes = phase == .reading || phase == .copying
        let bytes = isToldByBytes ? " \(done.megabytes) of \(total.megabytes) MB" : ""
        // At most 99 %: the run is done only when its result is reported.
        let parts = [
            "\(phase?.rawValue ?? "")\(bytes)", "\(min(99, Int(fraction * 100))) % of all",
        ]
        return (parts + (left.map { ["\($0) s left"] } ?? [])).joined(separator: ", ")
    }
}

// MARK: - Conversion Progress

/// How far a conversion, a backup, a restore or a salvage is.
struct ConversionProgress: OperationProgress {
    static let endedState = "The database is unchanged, and the new file was removed."
    static let endedAtOnceState =
        "The database is unchanged. The next run removes the unfinished file."

    private var estimate: RunEstimate
    private var start: ContinuousClock.Instant?
    private var waiting: String?

    /// - Parameter phases: The expected phases, in order.
    init(phases: [ConversionEvent.Phase] = [.copying, .comparing, .verifying]) {
        estimate = RunEstimate(phases)
    }

    mutating func note(_ event: ConversionEvent) {
        switch event {
        case .waiting(let processes):
            let names = processes.map(\.description).joined(separator: ", ")
            waiting = "waiting for \(names.isEmpty ? "another process" : names)"
        case .progress(let phase, let done, let total):
            waiting = nil
            start = start ?? .now
            estimate.note(phase, done: done, total: total, at: elapsed)
        }
    }

    /// The time since it began to work, in seconds.
    private var elapsed: Double { start.map { (.now - $0) / .seconds(1) } ?? 0 }

    var line: String? { waiting ?? estimate.line(at: elapsed) }
}

extension Int {
    /// The number of bytes in millions, with one decimal.
    var megabytes: String { tenths(of: 1_000_000) }

    /// The number of bytes in thousands or millions.
    var byteCount: String {
        self < 1_000_000 ? "\(tenths(of: 1000)) kB" : "\(megabytes) MB"
    }

    private func tenths(of unit: Int) -> String {
        let tenths = (self + unit / 20) / (unit / 10)
        return "\(tenths / 10).\(tenths % 10)"
    }
}

// MARK: - Conversion Note

/// A note about a rewritten file: a fact, and its consequence.
struct ConversionNote {
    let headline: String
    let explanation: String
    /// A command that can be pasted into a shell.
    var command: String?

    /// A note that the old file has other names.
    ///
    /// - Returns: `nil` if it has none.
    static func otherNames(_ count: Int) -> ConversionNote? {
        guard count > 0 else { return nil }
        return ConversionNote(
            headline: "the old file still exists under \(count) other "
                + (count == 1 ? "name (a hard link)" : "names (hard links)"),
            explanation:
                "A program that opens one of these names uses the old database. Before replacing a file, 'find -samefile' lists its names."
        )
    }

    /// A note that other users could access the old file, and can't access the new one.
    ///
    /// - Parameter formerMode: The old file's permissions.
    /// - Returns: `nil` if they couldn't, or if there was no old file.
    static func narrowedMode(from formerMode: UInt32?, path: String) -> ConversionNote? {
        // An access control list is kept, and is part of the mode.
        guard let formerMode,
            let mode = try? FileIdentity.of(path)?.permissions,
            formerMode & 0o077 != mode & 0o077
        else { return nil }
        let (old, new) = (formerMode.octalMode, mode.octalMode)
        return ConversionNote(
            headline: "the file's mode changed from \(old) to \(new): only its owner "
                + (mode & 0o077 == 0 ? "has access" : "and its access control list have access"),
            explanation: "To give others access again:",
            command: "chmod \(old) \(path.shellPath)"
        )
    }

    /// In one line, for programs.
    var line: String {
        "\(headline). \(explanation)" + (command.map { " \($0)" } ?? "")
    }
}

extension CommandContext {
    /// Prints notes for people.
    func tell(_ notes: [ConversionNote]) {
        for note in notes {
            self.note(
                note.headline,
                [note.explanation] + (note.command.map { ["  \($0)"] } ?? [])
            )
        }
    }
}
