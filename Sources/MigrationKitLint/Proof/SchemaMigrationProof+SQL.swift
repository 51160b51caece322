import GRDB
import MigrationKitSQL
import MigrationKitSchema

extension SchemaMigrationProof {
    /// The text to write into a folder, for which the linter finds no error.
    ///
    /// If the target schema or an allowed hazard explains a finding, an allow comment with that
    /// reason is written above the statement. The rollback says what it can't bring back.
    ///
    /// - Parameter format: The folder's format.
    /// - Throws: ``SchemaMigrationProofError``.
    public func sql(as format: MigrationFormat) throws -> NewMigrationSQL {
        var sql = NewMigrationSQL(up: migration.up, down: downWithComment)
        var (statements, findings) = try findings(in: sql, format)
        let comments = comments(for: findings, in: statements)
        if !comments.isEmpty {
            for (number, lines) in comments {
                sql.up[number] = (lines + [sql.up[number]]).joined(separator: "\n")
            }
            findings = try self.findings(in: sql, format).findings
        }
        if let error = findings.first(where: { $0.level == .error }) {
            // The schema is exactly the wanted one, so what refers to nothing does so there, too.
            let isOfSchema = [.danglingReference, .foreignKeyMismatch].contains(error.rule)
            throw failure(
                isOfSchema ? .wanted : .lint,
                "\(error.message) (\(error.rule.rawValue))"
            )
        }
        return sql
    }

    private var downWithComment: [String] {
        func list(_ title: String, _ texts: [String]) -> [String] {
            guard !texts.isEmpty else { return [] }
            return ["-- \(title)"]
                + texts.map { "--   \($0.split(separator: "\n").joined(separator: " "))" }
        }
        guard let first = migration.down.first else { return [] }
        var comment = list("The rollback can't bring back:", migration.notBroughtBack)
        if !comment.isEmpty {
            comment.append(
                "-- It fails, and changes nothing, if later rows depend on what is lost."
            )
        }
        comment += list(
            "The rollback fails, and changes nothing, if there are such rows by then:",
            migration.refusedOnWayBack
        )
        return [(comment + [first]).joined(separator: "\n")] + migration.down.dropFirst()
    }

    /// The comments that statements of the migration need, by the statements' numbers.
    private func comments(
        for findings: [LintFinding],
        in statements: [ScriptStatement]
    ) -> [Int: [String]] {
        let reasons = expected
        var comments: [Int: [String]] = [:]
        for finding in findings where finding.level >= .warning {
            guard let reason = reasons[finding.rule], let line = finding.line,
                let number = statements.firstIndex(where: { statement in
                    statement.file == finding.file
                        && (statement.line...statement.lastLine).contains(line)
                }), migration.up.indices.contains(number)
            else { continue }
            let comment = "-- migrationkit:allow \(finding.rule.rawValue) \(reason)"
            if comments[number]?.contains(comment) != true {
                comments[number, default: []].append(comment)
            }
        }
        return comments
    }

    /// The findings of a folder whose first migration creates the present schema, and whose second one
    /// is this.
    private func findings(
        in sql: NewMigrationSQL,
        _ format: MigrationFormat
    ) throws -> (statements: [ScriptStatement], findings: [LintFinding]) {
        var migrations = [(words: "wanted", sql: sql)]
        if !difference.from.statements.isEmpty {
            migrations.insert(
                (words: "present", sql: NewMigrationSQL(up: difference.from.statements)),
                at: 0
            )
        }
        let folder = try MigrationFolder.inMemory(migrations, format: format)
        guard let identifier = folder.steps.last?.identifier else { return ([], []) }
        var lint = MigrationLint(folder: folder)
        lint.configuration = configuration
        lint.selection = [identifier]
        return (folder.scripts[identifier]?.upStatements ?? [], try lint.report().findings)
    }

    /// The rules whose findings are intended, each with the reason.
    private var expected: [LintRule: String] {
        var reasons: [LintRule: String] = [:]
        for change in difference.changes where change.action != .added {
            for rule in change.kind.rules { reasons[rule] = "required by the target schema" }
        }
        for hazard in migration.hazards {
            for rule in hazard.kind.rules {
                reasons[rule] = "--allow-hazard \(hazard.kind.rawValue)"
            }
        }
        if !backfilled.isEmpty { reasons[.updateWithoutWhere] = "--backfill" }
        return reasons
    }
}

extension SchemaHazard.Kind {
    /// The rule of the linter that says the same, if there is one: it has the same name.
    package var rule: LintRule? { LintRule(rawValue: rawValue) }

    /// That rule, and those that find the same in the statements of a rebuild.
    fileprivate var rules: [LintRule] {
        let others: [LintRule] =
            switch self {
            case .dropColumn: [.rebuildLosesColumn]
            case .narrowsType: [.mayViolateStrict]
            default: []
            }
        return [rule].compactMap(\.self) + others
    }
}

extension SchemaChange.Kind {
    /// The rules of the linter that find a loss where something is dropped or changed.
    fileprivate var rules: [LintRule] {
        switch self {
        case .table: []
        case .column: [.rebuildLosesColumnProperty, .rebuildLosesConstraint]
        case .primaryKey, .unique, .check, .foreignKey: [.rebuildLosesConstraint]
        case .option: [.rebuildLosesOption]
        case .index: [.rebuildLosesIndex]
        case .trigger: [.rebuildLosesTrigger]
        case .view: [.rebuildLosesView]
        }
    }
}
