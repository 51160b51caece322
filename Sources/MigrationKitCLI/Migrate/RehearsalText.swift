import Foundation
import GRDB
import MigrationKit
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitRescue
import MigrationKitSQL
import MigrationKitSQLCipher

/// A rehearsal as the author of the migrations may see it: no value of a row, no key, no path, and
/// of the schema only names of tables.
struct RehearsalText {
    private let report: RehearsalReport
    private let runner: GRDBMigrationRunner
    private let options: MigrationOptions
    private let isEncrypted: Bool
    private let appVersion: String?
    private let toolVersion: String

    init(
        _ report: RehearsalReport,
        of runner: GRDBMigrationRunner,
        options: MigrationOptions,
        isEncrypted: Bool,
        appVersion: String?,
        toolVersion: String
    ) {
        self.report = report
        self.runner = runner
        self.options = options
        self.isEncrypted = isEncrypted
        self.appVersion = appVersion
        self.toolVersion = toolVersion
    }

    var text: String {
        (["Rehearsal of migrations", ""] + facts + [""] + steps + [""] + outcome).map(\.printable)
            .joined(separator: "\n") + "\n"
    }

    private var facts: [String] {
        let engine = EncryptedDatabase.engine
        let facts = [
            ("MigrationKit", toolVersion),
            ("SQLCipher", engine.cipherVersion),
            ("SQLite", engine.sqliteVersion),
            ("app", appVersion),
            ("encrypted", isEncrypted ? "yes" : "no"),
            ("page size", "\(report.pageSize)"),
            ("journal mode", report.journalMode),
            ("transactions", options.transaction == .perStep ? "one a migration" : "one for all"),
            ("bytes before", "\(report.byteCountBefore)"),
            ("bytes after", report.byteCountAfter.map { "\($0)" }),
            ("seconds copying", report.copySeconds.inMilliseconds),
            ("seconds migrating", report.migrationSeconds.inMilliseconds),
            ("seconds verifying", report.verificationSeconds.inMilliseconds),
            ("most bytes of the journal", "\(report.room.journalByteCount)"),
            ("most bytes of temporary files", "\(report.room.temporaryByteCount)"),
            ("most bytes beside it", "\(report.room.byteCount)"),
        ]
        return facts.compactMap { name, value in value.map { "\(name): \($0)" } }
    }

    private var steps: [String] {
        let header = ["migration", "seconds", "rows", "bytes beside it"]
        let rows = report.steps.map {
            [
                $0.step.identifier, $0.step.seconds.inMilliseconds, "\($0.step.rowsChanged)",
                "\($0.room.byteCount)",
            ]
        }
        let widths = header.indices.map { column in
            ([header] + rows).map { $0[column].count }.max() ?? 0
        }
        return ([header] + rows).map { row in
            zip(row, widths).enumerated().map { index, cell in
                index == 0
                    ? cell.0.padded(to: cell.1)
                    : String(repeating: " ", count: cell.1 - cell.0.count) + cell.0
            }.joined(separator: "  ")
        }
    }

    private var outcome: [String] {
        if let failure = report.failure {
            let step = report.failedStep.map { ": \($0)" } ?? ""
            return ["failed\(step)", "error: \(safe(failure))"]
        }
        if report.checks.isEmpty { return ["nothing was pending"] }
        return report.checks.map { check in
            guard !check.ok else { return "ok: \(name(of: check))" }
            let tables = Set(check.findings.compactMap(\.table)).sorted()
            let count = check.findings.count + check.unlistedCount
            return "FAILED: \(name(of: check)), \(counted(count, "finding"))"
                + (tables.isEmpty ? "" : ", in \(tables.joined(separator: ", "))")
        }
    }

    /// The check's name; of an index that is required, only the table's.
    private func name(of check: VerificationCheck) -> String {
        let required = "required_index "
        if check.name.hasPrefix(required) {
            return String(check.name.prefix { $0 != "." })
        }
        let query = runner.checks.first { check.name == "check \($0.name)" }
        return query.map { "check \(name(of: $0))" } ?? check.name
    }

    /// What the author has called it, or its line. The path of its file is the user's.
    private func name(of check: CheckQuery) -> String {
        guard let place = check.place, place.description == check.name else { return check.name }
        return "in line \(place.line) of \((place.file as NSString).lastPathComponent)"
    }

    /// An error without what SQLite or the app has put into its message.
    private func safe(_ error: any Error) -> String {
        switch error {
        case let error as SQLStatementError:
            let file = (error.file as NSString).lastPathComponent
            return "\(error.code.ofStep.name), SQLite \(error.resultCode), "
                + "in line \(error.line) of \(file)"
        case let error as DatabaseError:
            let code = ErrorCode(sqlite: error.resultCode.rawValue)
            return "\(code?.name ?? "stepFailed"), SQLite \(error.extendedResultCode)"
        case GRDBMigrationVerificationError.checkFailed(let violations),
            GRDBMigrationVerificationError.requirementFailed(_, let violations):
            let code = (error as? any CodedError)?.code.name ?? ""
            let queries = runner.steps.flatMap { $0.requirements + $0.checks } + runner.checks
            let query = queries.first { $0.name == violations.check }
            return "\(code), check \(query.map(name(of:)) ?? violations.check), "
                + counted(violations.count, "row")
        case let error as any CodedError:
            return error.code.ofStep.name
        default:
            // An app's own type says something, but its message may have anything in it.
            return "stepFailed, \(type(of: error))"
        }
    }
}

extension Double {
    fileprivate var inMilliseconds: String { String(format: "%.3f", self) }
}
