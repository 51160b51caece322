import MigrationKitGRDB

/// Which check is running. Each check is printed as soon as it is done.
struct VerificationProgress: OperationProgress {
    static let endedState = "The checks up to then have changed nothing."
    static let endedAtOnceState = "Nothing is lost by it."

    /// What is printed for people.
    enum Lines {
        case none, failures, withoutTimes, withTimes
    }

    /// The checks that are done, also if the verification ends with an error.
    private(set) var checks: [VerificationCheck] = []
    private(set) var line: String?

    private let context: CommandContext
    private let lines: Lines

    init(context: CommandContext, lines: Lines) {
        self.context = context
        self.lines = lines
    }

    mutating func note(_ event: VerificationEvent) {
        switch event {
        case .checkStarted(let name):
            line = "checking: \(name)"
        case .checkContinues(let name, let seconds):
            line = "checking: \(name), \(duration(seconds))"
        case .checkFinished(let check):
            line = nil
            checks.append(check)
            context.showProgress(nil)
            guard lines != .none, lines != .failures || !check.ok else { return }
            context.output(check.text(hasTime: lines == .withTimes))
        }
    }
}

extension VerificationCheck {
    /// The outcome of the check in one line, followed by its findings.
    func text(hasTime: Bool) -> String {
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
