import MigrationKitCommon

/// Whether versions of a program that don't know a step work with a database that has it.
///
/// The runner judges each step when it applies it, and keeps the judgement in the database's
/// journal, where a version that doesn't know the step finds it.
public enum OlderVersions: Hashable, Sendable {
    /// They work: everything that was there is there with the same meaning, nothing new refuses what
    /// they write, and no row that was there was changed or deleted.
    case work

    /// They may fail, or read something else than they expect. Each reason is one line.
    case fail(reasons: [String])
}

extension OlderVersions: Encodable {
    /// Encodes whether they work, and the reasons if they don't.
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode(["work": self == .work, "reasons": reasons.isEmpty ? nil : reasons])
    }
}

extension OlderVersions {
    /// Why they may fail; empty if they work.
    public var reasons: [String] {
        if case .fail(let reasons) = self { reasons } else { [] }
    }

    /// A reason that counts only for versions that know another step.
    ///
    /// - Parameter adder: The step that has added what the reason is about; `nil` if it was there.
    package static func reason(_ text: String, adder: String?) -> String {
        adder.map { text + mark($0) } ?? text
    }

    private static func mark(_ adder: String) -> String { " (added by \(adder))" }

    /// The same for versions that don't know these steps either.
    package func without(_ steps: some Sequence<String>) -> OlderVersions {
        let marks = steps.map(Self.mark)
        let left = reasons.filter { reason in !marks.contains(where: reason.hasSuffix) }
        // Without a reason, they fail for none that is known.
        guard left.count < reasons.count else { return self }
        return left.isEmpty ? .work : .fail(reasons: left)
    }

    /// The form that the journal keeps: `work`, or `fail` and a line for each reason.
    package var text: String {
        ([self == .work ? "work" : "fail"] + reasons).joined(separator: "\n")
    }

    /// - Parameter text: What the journal keeps.
    package init(text: String) {
        self =
            text == "work"
            ? .work : .fail(reasons: text.split(separator: "\n").dropFirst().map(String.init))
    }
}
