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
