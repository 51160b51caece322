/// Something in a migration that loses data, fails on real data, or is doubtful.
public struct LintFinding: Equatable, Sendable {
    /// The rule that found it.
    public let rule: LintRule

    /// How serious it is.
    public let level: LintLevel

    /// The migration's identifier.
    public let migration: String

    /// The path of the file in the migrations folder, or the step's source file.
    public let file: String?

    /// The line in the file, from 1; `nil` for a step in Swift.
    public let line: Int?

    /// The column in characters, from 1; `nil` for a step in Swift.
    public let column: Int?

    /// What happens, in one sentence that names the tables and columns. Never a value.
    public let message: String

    /// What to do instead, in a sentence or with the statements to write; `nil` if there is no
    /// general answer.
    public let fix: String?

    /// Creates a finding.
    ///
    /// - Parameters:
    ///   - rule: The rule that found it.
    ///   - level: How serious it is; by default the rule's level.
    ///   - migration: The migration's identifier.
    ///   - file: The file, if there is one.
    ///   - line: The line in the file, from 1.
    ///   - column: The column in characters, from 1.
    ///   - message: What happens.
    ///   - fix: What to do instead.
    public init(
        rule: LintRule,
        level: LintLevel? = nil,
        migration: String,
        file: String? = nil,
        line: Int? = nil,
        column: Int? = nil,
        message: String,
        fix: String? = nil
    ) {
        self.rule = rule
        self.level = level ?? rule.level
        self.migration = migration
        self.file = file
        self.line = line
        self.column = column
        self.message = message
        self.fix = fix
    }
}

extension LintFinding {
    /// The same finding at another level.
    func with(level: LintLevel) -> LintFinding {
        LintFinding(
            rule: rule,
            level: level,
            migration: migration,
            file: file,
            line: line,
            column: column,
            message: message,
            fix: fix
        )
    }
}
