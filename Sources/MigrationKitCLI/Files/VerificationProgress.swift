import MigrationKitCommon
import MigrationKitGRDB

/// Prints each check as soon as it is done, shows on a terminal which one is running, and ends the
/// verification by Ctrl-C.
final class VerificationProgress: Sendable {
    private let done = Locked<[VerificationCheck]>([])
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
    var checks: [VerificationCheck] { done.withLock { $0 } }

    /// Runs a verification.
    func watch(_ run: (VerificationOptions) throws -> [VerificationCheck]) throws {
        try context.endingOnSignals(
            by: cancellation.cancel,
            leaving: "The checks up to then have changed nothing.",
            atOnce: "Nothing is lost by it."
        ) {
            _ = try run(
                VerificationOptions(cancellation: cancellation, observer: { [self] in note($0) })
            )
        }
    }

    private func note(_ event: VerificationEvent) {
        switch event {
        case .checkStarted(let name):
            context.showProgress("checking: \(name)")
        case .checkContinues(let name, let seconds):
            context.showProgress("checking: \(name), \(duration(seconds))")
        case .checkFinished(let check):
            done.withLock { $0.append(check) }
            context.showProgress(nil)
            if lines != .none { context.output(check.text(hasTime: lines == .withTimes)) }
        }
    }
}

extension VerificationCheck {
    /// For people: a line with the outcome, and lines about what is wrong.
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
