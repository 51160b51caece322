import GRDB
import MigrationKit
import MigrationKitLint
import MigrationKitSQL
import TestSupport

/// Checks a folder whose files are given, in order, as texts.
func lint(
    _ files: KeyValuePairs<String, String>,
    _ configure: (inout MigrationLint) -> Void = { _ in }
) throws -> LintReport {
    try report(of: TemporaryFolder(files), configure)
}

/// Checks migrations whose statements are given, in order.
func lint(
    _ scripts: [String],
    _ configure: (inout MigrationLint) -> Void = { _ in }
) throws -> LintReport {
    let folder = try TemporaryFolder()
    for (number, text) in scripts.enumerated() {
        try folder.write("\(number + 1)_step.sql", text.utf8)
    }
    return try report(of: folder, configure)
}

private func report(
    of folder: TemporaryFolder,
    _ configure: (inout MigrationLint) -> Void
) throws -> LintReport {
    var lint = try withExtendedLifetime(folder) {
        MigrationLint(folder: try MigrationFolder(path: folder.path("")))
    }
    configure(&lint)
    return try lint.report()
}

extension LintReport {
    /// The findings as short lines: the migration, the line, the rule and the level if it isn't the
    /// rule's own. Without those that most examples have, whatever they are about.
    func lines(from level: LintLevel = .warning) -> [String] {
        let everywhere: Set<LintRule> = [.breaksInstalledVersion, .migrationInserted]
        return findings.filter { $0.level >= level && !everywhere.contains($0.rule) }.map {
            finding in
            let place = finding.line.map { ":\($0)" } ?? ""
            let level = finding.level == finding.rule.level ? "" : " (\(finding.level))"
            return
                "\(finding.migration.prefix { $0 != "_" })\(place) \(finding.rule.rawValue)\(level)"
        }
    }

    /// The findings of a rule.
    func findings(of rule: LintRule) -> [LintFinding] {
        findings.filter { $0.rule == rule }
    }
}
