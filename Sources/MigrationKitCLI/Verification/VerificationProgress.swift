import Foundation
import MigrationKitGRDB

/// Prints each check as soon as it is done, shows on a terminal which one is running, and ends the
/// verification by Ctrl-C.
final class VerificationProgress: @unchecked Sendable {
    // `@unchecked`: every access to the state holds the lock.
    private let lock = NSLock()
    private var done: [VerificationCheck] = []

    private let context: CommandContext
    private let lines: Lines
    private let cancellation = MigrationCancellation()

    /// What is printed for people.
    enum Lines {
        case none, withoutTimes, withTimes
    }

    init(context: CommandContext, lines: Lines) {
        self.context = context
        self.lines = lines
    }

    /// The checks that are done, also where the verification ends with an error.
    var checks: [VerificationCheck] { lock.withLock { done } }

    /// Runs a verification.
    func watch(_ run: (VerificationOptions) throws -> [VerificationCheck]) throws {
        defer { show(nil) }
        let signals = context.endsOnSignals ? EndingSignals(cancellation.cancel) : nil
        defer { signals?.stop() }
        do {
            _ = try run(
                VerificationOptions(cancellation: cancellation, observer: { [self] in note($0) })
            )
        } catch let error as CancellationError {
            throw signals?.received.map { VerificationInterruption(signal: $0) } ?? error
        }
    }

    private func note(_ event: VerificationEvent) {
        switch event {
        case .checkStarted(let name):
            show("checking: \(name)")
        case .checkContinues(let name, let seconds):
            show("checking: \(name), \(duration(seconds))")
        case .checkFinished(let check):
            lock.withLock { done.append(check) }
            show(nil)
            if lines != .none { context.output(check.text(hasTime: lines == .withTimes)) }
        }
    }

    /// Replaces the line of progress; `nil` takes it away.
    private func show(_ line: String?) {
        guard context.showsProgress else { return }
        StandardError.showProgress(line)
    }
}

/// A verification that a signal has ended.
struct VerificationInterruption: Error {
    let signal: Int32
}

extension VerificationCheck {
    /// For people: a line that tells the outcome, and lines about what is wrong.
    fileprivate func text(hasTime: Bool) -> String {
        let time = hasTime ? "  \(duration(seconds))" : ""
        var lines = ["\(ok ? "ok    " : "FAILED")  \(name)\(time)"]
        if let detail { lines.append("        \(detail)") }
        if findings.map(\.text) != [detail] {
            lines += findings.map { "        - \($0.text)" }
        }
        if unlistedCount > 0 { lines.append("        - and \(unlistedCount) more") }
        if let note { lines.append("        (\(note))") }
        return lines.map(\.printable).joined(separator: "\n")
    }
}
