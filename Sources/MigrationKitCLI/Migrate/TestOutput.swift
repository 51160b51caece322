import ArgumentParser
import Foundation
import MigrationKitCommon
import MigrationKitTestSupport

/// How `test` prints what it has found.
enum TestFormat: String, CaseIterable, ExpressibleByArgument {
    case human, json, junit, github
}

/// The texts of `test`.
struct TestOutput {
    private typealias Case = FolderTestReport.Case

    private let report: FolderTestReport
    /// The path of the folder.
    private let folder: String
    private let style: Style

    init(_ report: FolderTestReport, folder: String, style: Style) {
        (self.report, self.folder, self.style) = (report, folder, style)
    }

    var failures: [FolderTestReport.Case] { report.cases.filter { $0.failure != nil } }

    func text(as format: TestFormat) throws -> String {
        switch format {
        case .human: (failures.compactMap(human) + [summary]).joined(separator: "\n\n")
        case .json: try JSON.text(of: document)
        case .junit: tests.text
        case .github: (failures.compactMap(annotation) + [summary]).joined(separator: "\n")
        }
    }

    private func file(of test: Case) -> String? { test.file?.pathFromHere(in: folder) }

    // MARK: - For People

    private func human(_ test: Case) -> String? {
        guard let failure = test.failure else { return nil }
        let place = [
            file(of: test) ?? test.name, test.line.map(String.init),
            test.column.map(String.init),
        ].compactMap { $0 }.joined(separator: ":").printable
        let heading =
            "\(place): \(style.text("failed:", .red)) \(failure.message.printable) "
            + "[\(test.kind.rawValue)]"
        return ([heading] + lines(of: failure).map { "  \($0.printableLines)" })
            .joined(separator: "\n")
    }

    private func lines(of failure: FolderTestReport.Failure) -> [String] {
        let difference = failure.difference.split(separator: "\n").map(String.init)
        return (difference.isEmpty ? [] : ["Found (+) instead of expected (-):"] + difference)
            + failure.advice.split(separator: "\n").flatMap { $0.wrapped(to: 78) }
    }

    private var summary: String {
        let counts = FolderTestReport.Kind.allCases.compactMap { kind in
            let count = report.cases.count { test in
                if case .skipped = test.outcome { false } else { test.kind == kind }
            }
            return count == 0 ? nil : "\(kind.rawValue) \(count)"
        }
        let result = failures.isEmpty ? "all passed" : "\(failures.count) failed"
        let lines = [
            "Tested \(counted(report.migrations, "migration")): \(result).",
            "  " + counts.joined(separator: ", "),
        ]
        return (lines + notJudged).joined(separator: "\n")
    }

    /// What generated rows can't show.
    private var notJudged: [String] {
        let skipped = report.cases.compactMap { test -> String? in
            guard case .skipped(let reason) = test.outcome, test.kind == .rows else { return nil }
            return "\(test.name): \(reason)".printable
        }
        guard !skipped.isEmpty else { return [] }
        let rest = skipped.count - 5
        return ["  not judged with rows, for which you can write a test:"]
            + skipped.prefix(5).flatMap { $0[...].wrapped(to: 76, indent: 2).map { "    \($0)" } }
            + (rest > 0 ? ["    and \(rest) more"] : [])
    }

    // MARK: - For Programs

    private var document: JSONFields {
        let tests = report.cases.map { test -> JSONFields in
            let (outcome, reason) =
                switch test.outcome {
                case .passed: ("passed", nil as String?)
                case .skipped(let reason): ("skipped", reason)
                case .failed: ("failed", nil)
                }
            let difference = test.failure?.difference
            return [
                "kind": test.kind.rawValue, "name": test.name, "file": file(of: test),
                "line": test.line, "column": test.column, "outcome": outcome, "reason": reason,
                "message": test.failure?.message,
                "difference": difference?.isEmpty ?? true ? nil : difference,
                "fix": test.failure?.advice,
            ]
        }
        return [
            "schemaVersion": JSON.schemaVersion, "tests": tests, "failed": failures.count,
            "migrations": report.migrations,
        ]
    }

    private var tests: JUnit {
        JUnit(
            name: "test",
            cases: report.cases.map { test in
                let outcome: JUnit.Outcome =
                    switch test.outcome {
                    case .passed: .passed
                    case .skipped(let reason): .skipped(reason)
                    case .failed(let failure):
                        .failed(
                            failure.message,
                            text: lines(of: failure).joined(separator: "\n")
                        )
                    }
                return JUnit.Case(
                    name: test.name,
                    group: test.kind.rawValue,
                    file: file(of: test),
                    line: test.line,
                    outcome: outcome
                )
            }
        )
    }

    private func annotation(_ test: Case) -> String? {
        guard let failure = test.failure else { return nil }
        return GitHubAnnotation(
            command: .error,
            file: file(of: test),
            line: test.line,
            column: test.column,
            title: "test \(test.kind.rawValue) (\(test.name))",
            text: [failure.message] + lines(of: failure)
        ).printed
    }
}
