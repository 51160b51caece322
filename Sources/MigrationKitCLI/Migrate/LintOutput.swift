import ArgumentParser
import Foundation
import MigrationKit
import MigrationKitCommon
import MigrationKitLint
import MigrationKitSQL

/// How `lint` prints its findings.
enum LintFormat: String, CaseIterable, ExpressibleByArgument {
    case human, json, sarif, github, junit
}

/// The findings, with what is needed to show their places.
struct LintResult {
    let report: LintReport

    /// Whether the findings are statements for which the folder can't be used at all. No comment
    /// can allow these.
    let isRefused: Bool

    /// The path of the folder, if the migrations are files.
    private let folderPath: String?
    private let excerpt: (LintFinding) -> String?

    init(report: LintReport, folder: MigrationFolder?) {
        self.report = report
        isRefused = false
        folderPath = folder?.path
        let texts = MaskedTexts()
        excerpt = { finding in
            guard let folder, let line = finding.line else { return nil }
            return texts.text(of: finding, in: folder)?
                .excerpt(line: line, column: finding.column ?? 1)
        }
    }

    /// The statements for which a folder can't be used at all. Nothing else of it is checked.
    ///
    /// - Throws: `MigrationFolderError`.
    init(refusalsIn path: String, names: MigrationNamePattern?) throws {
        let refusals = try MigrationFolder.refusals(in: path, names: names)
        report = LintReport(findings: refusals.map(LintFinding.init), checked: 0)
        isRefused = true
        folderPath = path
        excerpt = { finding in
            refusals.first {
                $0.place.file == finding.file && $0.place.line == finding.line
                    && $0.place.column == finding.column
            }?.place.excerpt
        }
    }

    /// An error for which nothing could be checked. If it is of no file, it is the folder's: code
    /// hosts don't show what has no place.
    init(_ error: any CodedError, in path: String) {
        let finding =
            (error as? MigrationFolderError).map(LintFinding.init)
            ?? LintFinding(
                rule: .migrationFails,
                level: .error,
                migration: "",
                file: ".",
                message: error.localizedDescription,
                fix: error.recoverySuggestion
            )
        report = LintReport(findings: [finding], checked: 0)
        isRefused = true
        folderPath = path
        excerpt = { _ in nil }
    }

    /// The path of a finding's file, from the working folder if it is in there.
    func file(of finding: LintFinding) -> String? {
        guard let file = finding.file, !file.isEmpty else { return nil }
        return folderPath.map { file.pathFromHere(in: $0) } ?? file
    }

    /// The line of a finding, with a caret under its place.
    func excerpt(of finding: LintFinding) -> String? { excerpt(finding) }
}

extension String {
    /// The path of a file in a folder, from the working folder if it is in there.
    func pathFromHere(in folder: String) -> String {
        let path =
            hasPrefix("/")
            ? self : URL(fileURLWithPath: folder).appendingPathComponent(self).standardized.path
        let here = FileManager.default.currentDirectoryPath + "/"
        return path.hasPrefix(here) ? String(path.dropFirst(here.count)) : path
    }
}

/// The files of findings, masked only once each: a large file may have thousands of findings.
private final class MaskedTexts {
    private struct Key: Hashable {
        let file: String
        let hidesDoubleQuoted: Bool
    }

    private var texts: [Key: MaskedText?] = [:]

    func text(of finding: LintFinding, in folder: MigrationFolder) -> MaskedText? {
        guard let file = finding.file else { return nil }
        // What this rule finds in double quotes is a string.
        let key = Key(file: file, hidesDoubleQuoted: finding.rule == .doubleQuotedString)
        if let known = texts[key] { return known }
        let text = folder.maskedText(
            of: file,
            in: finding.migration,
            hidingDoubleQuoted: key.hidesDoubleQuoted
        )
        texts[key] = text
        return text
    }
}

/// The texts of `lint`.
struct LintOutput {
    private let result: LintResult
    private let version: String
    private let style: Style

    /// The lowest level with which the command fails.
    private let threshold: LintLevel

    /// The lowest level that is shown to people.
    private var lowest: LintLevel { min(threshold, .warning) }

    init(
        _ result: LintResult,
        threshold: LintLevel,
        version: String,
        style: Style
    ) {
        self.result = result
        self.threshold = threshold
        self.version = version
        self.style = style
    }

    /// All findings.
    var findings: [LintFinding] { result.report.findings }

    private var shown: [LintFinding] { findings.filter { $0.level >= lowest } }

    func text(as format: LintFormat) throws -> String {
        switch format {
        case .human: (shown.map(human) + [summary]).joined(separator: "\n\n")
        case .json: try JSON.text(of: document)
        case .sarif: try JSON.text(of: SARIF.Log(result, version: version))
        case .github: (shown.map(annotation) + [summary]).joined(separator: "\n")
        case .junit: tests.text
        }
    }

    // MARK: - For People

    private func human(_ finding: LintFinding) -> String {
        let place = [
            result.file(of: finding) ?? finding.migration, finding.line.map(String.init),
            finding.line.flatMap { _ in finding.column.map(String.init) },
        ].compactMap { $0 }.joined(separator: ":").printable
        // A source file in Swift may have many steps.
        let namesStep = finding.file.map { $0.contains(finding.migration) } ?? true
        let step = namesStep || finding.migration.isEmpty ? "" : "\(finding.migration): "
        let level = style.text("\(finding.level):", finding.level == .error ? .red : .yellow)
        let heading =
            "\(place): \(level) \((step + finding.message).printable) [\(finding.rule.rawValue)]"
        let lines =
            (result.excerpt(of: finding)?.split(separator: "\n").map(String.init) ?? [])
            + (finding.fix ?? "").split(separator: "\n").flatMap { $0.wrapped(to: 78) }
            + [finding.rule.seePage]
        return ([heading] + lines.map { "  \($0.printableLines)" }).joined(separator: "\n")
    }

    private var summary: String {
        let checked = result.report.checked
        let levels = LintLevel.listed(findings.map(\.level))
        var text = "Checked \(counted(checked, "migration")): \(levels)."
        let hidden = findings.count - shown.count
        if hidden > 0 { text += " --level note shows the \(hidden == 1 ? "note" : "notes")." }
        if checked == 0, !findings.isEmpty {
            text += "\nNo migration was checked: mend this, and run 'lint' again."
        }
        return text
    }

    // MARK: - For Programs

    private var document: JSONFields {
        let findings = findings.map { finding -> JSONFields in
            [
                "rule": finding.rule, "level": finding.level, "migration": finding.migration,
                "file": result.file(of: finding), "line": finding.line, "column": finding.column,
                "message": finding.message, "fix": finding.fix,
                "help": finding.rule.explainCommand,
            ]
        }
        return [
            "schemaVersion": JSON.schemaVersion, "findings": findings,
            "checked": result.report.checked,
        ]
    }

    // MARK: - For GitHub

    private func annotation(_ finding: LintFinding) -> String {
        let command: GitHubAnnotation.Command =
            switch finding.level {
            case .error: .error
            case .warning: .warning
            case .note: .notice
            }
        let annotation = GitHubAnnotation(
            command: command,
            file: result.file(of: finding),
            line: finding.line,
            column: finding.column,
            title: "\(finding.rule.rawValue) (\(finding.migration))",
            text: [finding.message, finding.fix, finding.rule.seePage].compactMap { $0 }
        )
        return annotation.printed
    }

    // MARK: - As Tests

    /// A case for each finding, and one for those that there aren't.
    private var tests: JUnit {
        let cases = findings.map { finding in
            let message = "\(finding.level): \(finding.message)"
            let text = [finding.fix, finding.rule.seePage].compactMap { $0 }
            return JUnit.Case(
                name: "\(finding.rule.rawValue) (\(finding.migration))",
                group: "lint",
                file: result.file(of: finding),
                line: finding.line,
                outcome: finding.level >= threshold
                    ? .failed(message, text: text.joined(separator: "\n")) : .skipped(message)
            )
        }
        let name = "\(counted(result.report.checked, "migration"))"
        return JUnit(
            name: "lint",
            cases: cases.isEmpty
                ? [JUnit.Case(name: name, group: "lint", file: nil, line: nil, outcome: .passed)]
                : cases
        )
    }
}

// MARK: - SARIF

/// The Static Analysis Results Interchange Format, 2.1.0.
/// <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>
private enum SARIF {
    struct Log: Encodable {
        let schema = "https://json.schemastore.org/sarif-2.1.0.json"
        let version = "2.1.0"
        let runs: [Run]

        enum CodingKeys: String, CodingKey {
            case schema = "$schema"
            case version, runs
        }

        init(_ result: LintResult, version: String) {
            let rules = LintRule.allCases.map { Rule($0) }
            let positions = Dictionary(
                uniqueKeysWithValues: LintRule.allCases.enumerated().map { ($1, $0) }
            )
            var counts: [String: Int] = [:]
            let results = result.report.findings.map { finding in
                let kind = "\(finding.rule.rawValue):\(finding.migration)"
                counts[kind, default: 0] += 1
                return Result(
                    finding,
                    file: result.file(of: finding),
                    ruleIndex: positions[finding.rule] ?? 0,
                    fingerprint: "\(kind):\(counts[kind] ?? 1)"
                )
            }
            let driver = Driver(name: Program.name, version: version, rules: rules)
            runs = [Run(tool: Tool(driver: driver), results: results)]
        }
    }

    struct Run: Encodable {
        let tool: Tool
        let columnKind = "unicodeCodePoints"
        let results: [Result]
    }

    struct Tool: Encodable {
        let driver: Driver
    }

    struct Driver: Encodable {
        let name: String
        let version: String
        let rules: [Rule]
    }

    struct Rule: Encodable {
        struct Configuration: Encodable {
            let level: String
        }

        let id: String
        let shortDescription: Message
        let help: Message
        let defaultConfiguration: Configuration

        init(_ rule: LintRule) {
            id = rule.rawValue
            shortDescription = Message(text: rule.summary)
            help = Message(text: "\(rule.summary) \(rule.seePage).")
            defaultConfiguration = Configuration(level: rule.level.rawValue)
        }
    }

    struct Message: Encodable {
        let text: String
    }

    struct Result: Encodable {
        let ruleId: String
        let ruleIndex: Int
        let level: String
        let message: Message
        let locations: [Location]
        /// The same from run to run, whatever is written above the statement.
        let partialFingerprints: [String: String]

        init(_ finding: LintFinding, file: String?, ruleIndex: Int, fingerprint: String) {
            ruleId = finding.rule.rawValue
            self.ruleIndex = ruleIndex
            level = finding.level.rawValue
            message = Message(
                text: [finding.message, finding.fix].compactMap { $0 }.joined(separator: "\n")
            )
            locations = [Location(finding, file: file)]
            partialFingerprints = ["migrationKitLint/v1": fingerprint]
        }
    }

    struct Location: Encodable {
        let physicalLocation: PhysicalLocation?
        let logicalLocations: [LogicalLocation]

        init(_ finding: LintFinding, file: String?) {
            physicalLocation = file.map { file in
                PhysicalLocation(
                    artifactLocation: Artifact(file: file),
                    region: finding.line.map { Region(startLine: $0, startColumn: finding.column) }
                )
            }
            logicalLocations = [LogicalLocation(name: finding.migration)]
        }
    }

    struct LogicalLocation: Encodable {
        let name: String
        let kind = "resource"
    }

    struct PhysicalLocation: Encodable {
        let artifactLocation: Artifact
        let region: Region?
    }

    struct Artifact: Encodable {
        let uri: String
        let uriBaseId: String?

        /// - Parameter file: A path, relative to the working folder if it is in there.
        init(file: String) {
            let isAbsolute = file.hasPrefix("/")
            let path =
                file.addingPercentEncoding(withAllowedCharacters: Self.allowed) ?? file
            uri = isAbsolute ? "file://\(path)" : path
            uriBaseId = isAbsolute ? nil : "%SRCROOT%"
        }

        /// A colon in the first part would make it a scheme.
        private static let allowed = CharacterSet.urlPathAllowed.subtracting([":"])
    }

    struct Region: Encodable {
        let startLine: Int
        let startColumn: Int?
    }
}
