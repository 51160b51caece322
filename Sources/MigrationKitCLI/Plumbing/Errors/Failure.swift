import ArgumentParser
import Foundation
import GRDB
import MigrationKitKeys
import MigrationKit
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitLint
import MigrationKitSQL
import MigrationKitSQLCipher

/// An error as the tool reports it: a code for programs, text for people, and an exit code.
struct Failure {
    let code: String
    let exitCode: Int32
    let message: String
    private(set) var hint: String?

    /// - Parameter database: The database that was worked on, if one was opened.
    init(_ error: any Error, parser: any ParsableCommand.Type, database: String? = nil) {
        var error = error
        if let database, (error as? DatabaseError)?.isUnexplained == true {
            error = EncryptedDatabaseError.damaged(path: database, pages: [])
        }
        self = Failure(classifying: error, parser: parser).naming(database)
        // The error of the lock for runs says itself who holds it.
        guard code == "locked", !(error is MigrationKitError) else { return }
        var path = database
        if case EncryptedDatabaseError.locked(let named) = error { path = named }
        let users = path.map([OpenProcess].init(using:)) ?? []
        guard !users.isEmpty else { return }
        hint = ["It is open in \(users.listed).", hint].compactMap(\.self).joined(separator: "\n")
    }

    private init(classifying error: any Error, parser: any ParsableCommand.Type) {
        switch error {
        case let error as MigrationStepFailure:
            self.init(step: error, parser: parser)
        case let error as Interruption:
            self.init("interrupted", 128 + error.signal, "interrupted", hint: error.state)
        case is CancellationError:
            self.init("interrupted", 130, "cancelled", hint: "Uncommitted changes were undone.")
        case let error as any CodedError:
            self.init(
                error.code.name,
                error.code.exitStatus.rawValue,
                error.errorDescription ?? "\(error)",
                hint: error.hint
            )
        case let error as DatabaseError:
            self.init(database: error)
        default:
            self.init(other: error, parser: parser)
        }
    }

    /// The text for people: a message, and lines that help.
    ///
    /// - Parameters:
    ///   - keySource: Where the key came from, if known.
    ///   - form: The form of messages.
    func text(keySource: KeySource?, form: MessageForm = MessageForm()) -> String {
        var lines = hint?.split(separator: "\n").map(String.init) ?? []
        if code == "wrongKey", let keySource {
            lines.append("Key from: \(keySource).")
        }
        // The parser's own messages may have several lines; in another one, only a name has a line feed.
        let message = (code == "usage" ? message.split(separator: "\n") : [message[...]])
            .map { String($0).printable }.joined(separator: "\n")
        // Answering no isn't an error.
        guard code != "declined" else {
            return message.prefix(1).uppercased() + message.dropFirst() + "."
        }
        return form.text("error: \(message)", lines)
    }

    /// What programs read.
    ///
    /// - Parameter keySource: Where the key came from, if known.
    func document(keySource: KeySource?) -> JSONFields {
        let error: JSONFields = [
            "code": code, "message": message, "exit": exitCode, "hint": hint,
            "keySource": keySource?.description,
        ]
        return ["error": error]
    }

    // MARK: -

    private init(_ code: String, _ exitCode: Int32, _ message: String, hint: String?) {
        self.code = code
        self.exitCode = exitCode
        self.message = message
        self.hint = hint
    }

    /// The same with the database's path, which SQLite's errors lack.
    private func naming(_ database: String?) -> Failure {
        guard let database,
            ["damaged", "diskFull", "inputOutput", "locked", "readOnly"].contains(code),
            !message.contains(database)
        else { return self }
        return Failure(code, exitCode, "\(message) (\(database))", hint: hint)
    }

    /// - Parameter count: How many migrations the run has committed.
    private static func kept(_ count: Int) -> String {
        count == 1
            ? "the migration before it stays applied"
            : "the \(count) migrations before it stay applied"
    }

    /// A step failed: by its own error, or because of the disk or another process.
    private init(step failure: MigrationStepFailure, parser: any ParsableCommand.Type) {
        let cause = Failure(classifying: failure.underlying, parser: parser)
        let verb = failure.isRollback ? "rollback of " : ""
        // It names the migration, which wasn't begun.
        let isRequirement = cause.code == "requirementFailed"
        let kept =
            switch (failure.transaction, failure.ledger, failure.committed) {
            case _ where failure.isRehearsal:
                "It failed on the copy, which is removed. The database itself is unchanged."
            case (_, .unchanged, 0) where isRequirement:
                "Nothing has changed."
            case (_, .unchanged, let count) where isRequirement:
                "It wasn't begun; \(Self.kept(count))."
            case (.own, .unchanged, 0):
                "Its transaction was rolled back: nothing has changed."
            case (.own, .unchanged, let count):
                "Its transaction was rolled back; \(Self.kept(count))."
            case (_, .changed, _):
                """
                The error came after the commit: the migration is recorded as \
                \(failure.isRollback ? "rolled back" : "applied"). A power cut could still undo \
                it. Verify the database and the disk.
                """
            case (.own, .unreadable, _):
                """
                It is unknown whether its transaction was committed. When the disk works again, \
                'status' shows it, and the next run continues from there.
                """
            case (.batches, _, _):
                """
                Batches that were done before the error stay. It is not recorded as done: the next run \
                goes on from there.
                """
            case (.none, .unchanged, _):
                """
                It runs outside of a transaction, so what it did before the error stays. It is not \
                recorded as done, and runs again next time. If it can't run twice, do the rest of it \
                yourself; 'repair --applied \(failure.identifier.shellWord)' then records it.
                """
            case (.none, .unreadable, _):
                """
                It runs outside of a transaction, so what it did before the error stays. It is \
                unknown whether it is recorded as done. When the disk works again, 'status' shows \
                it.
                """
            }
        let baseline = """
            The database has tables, but no migration is recorded. If the result of the first \
            migrations already exists, 'baseline' records them as applied. If another tool applied \
            them, use 'migrate --adopt TOOL', which reads that tool's table, or 'migrate --adopt \
            user_version' for code that counts there.
            """
        let code = ErrorCode(cause.code, .failed).ofStep.name
        let isOwnFault = code != cause.code
        self.init(
            code,
            isOwnFault ? ErrorCode.ExitStatus.failed.rawValue : cause.exitCode,
            isRequirement
                ? cause.message
                : "the \(verb)migration \(failure.identifier) failed: \(cause.message)",
            hint: [
                cause.hint, failure.violationsBefore.map(Self.advice(onViolations:)),
                isOwnFault ? Self.advice(for: failure.underlying) : nil, kept,
                failure.wasUnmanaged ? baseline : nil,
            ]
            .compactMap { $0 }.joined(separator: "\n")
        )
    }

    /// What was wrong before the migration.
    private static func advice(onViolations phrase: String) -> String {
        """
        It was so before: \(phrase) without this migration, too, and all rows are checked. 'verify' lists \
        them. Repair them in a migration of its own. To go on and leave them, add --allow-violations: \
        then a migration may add none.
        """
    }

    /// What failed, the safe pattern and the page of the rule, if the linter has one for it.
    private static func advice(for error: any Error) -> String? {
        let (message, statement): (String?, String?) =
            switch error {
            case let error as SQLStatementError: (error.sqliteMessage, error.statement)
            case let error as DatabaseError:
                (error.message, error.sql.flatMap { SQLSubject(sql: $0)?.description })
            default: (nil, nil)
            }
        if message.flatMap(SchemaNeed.init) != nil {
            return """
                If the app's own connections have it, give an extension of SQLite that has it, too, \
                with --extension, or let the app apply the migration.
                """
        }
        guard let advice = message.flatMap(LintAdvice.init) else { return nil }
        return [
            statement.map { "Statement: \($0)".printable }, advice.text,
            advice.rule.seePage,
        ].compactMap { $0 }.joined(separator: "\n")
    }

    /// What to do with a file that is damaged.
    static var adviceOnDamage: String {
        """
        Keep a copy of the file. Then restore a backup ('\(Program.name) restore'), or recover what can be \
        read ('\(Program.name) salvage').
        """
    }

    /// An error of SQLite outside a step.
    private init(database error: DatabaseError) {
        let message = "SQLite: \(error.messageWithoutValues)"
        let code =
            ErrorCode(sqlite: error.resultCode.rawValue) ?? ErrorCode("databaseError", .failed)
        let (line, hint): (String, String?) =
            switch code.name {
            case "locked":
                (
                    "the database is locked by another process",
                    "Wait until it is done, or close it, and try again."
                )
            case "diskFull": ("the disk is full", "Make room, and try again.")
            case "inputOutput":
                (message, "Check the disk, and the permissions of the database's folder.")
            case "damaged":
                (message, Self.adviceOnDamage)
            case "readOnly":
                (message, "Check the permissions of the database and of its folder.")
            default: (message, nil)
            }
        self.init(code.name, code.exitStatus.rawValue, line, hint: hint)
    }

    private init(other error: any Error, parser: any ParsableCommand.Type) {
        // ArgumentParser's errors are not public, but have their own exit code.
        let exitCode = parser.exitCode(for: error)
        guard exitCode == .validationFailure else {
            let described = error as? any LocalizedError
            self.init(
                "failed",
                1,
                described?.errorDescription ?? "\(error)",
                hint: described?.recoverySuggestion
            )
            return
        }
        let full = parser.fullMessage(for: error)
        let see = full.split(separator: "\n").last { $0.hasPrefix("  See ") } ?? ""
        let message = Habits.correct(parser.message(for: error), String(see), in: parser)
        let usage = full.split(separator: "\n").filter {
            $0.hasPrefix("Usage:") || $0.hasPrefix("  See ")
        }
        self.init(
            "usage",
            64,
            message.prefix(1).lowercased() + message.dropFirst(),
            hint: usage.map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: "\n")
        )
    }
}

/// The meanings of the exit codes, for the help and the manual page.
extension ErrorCode.ExitStatus {
    static let meanings: [(code: Int32, meaning: String)] = [
        (0, "done"),
        (1, "a migration failed and was undone"),
        (2, "verification failed"),
        (3, "with --check or --exit-code: something differs or is pending; lint: a finding"),
        (64, "wrong usage"),
        (65, "unusable migrations"),
        (66, "no such file or database"),
        (69, "no secret store, no such key in it, or no git"),
        (73, "can't create the output"),
        (74, "input/output error"),
        (75, "database busy"),
        (77, "key or permission refused"),
        (129, "ended by a hangup"),
        (130, "interrupted"),
        (141, "done, but the output was closed"),
        (143, "terminated"),
    ]

    /// All of them in one sentence.
    static var summary: String {
        "Exit codes: " + meanings.map { "\($0.code) \($0.meaning)" }.joined(separator: ", ") + "."
    }
}

/// A signal has ended a run.
struct Interruption: Error {
    let signal: Int32

    /// The resulting state, as text.
    let state: String
}

extension CodedError {
    /// What to do about the error: the tool's own words, or the library's.
    var hint: String? {
        (self as? any ToolSuggesting)?.suggestion ?? recoverySuggestion
    }
}

/// A library's error whose advice the tool rephrases with its own commands and options.
protocol ToolSuggesting: CodedError {
    /// What to do about the error with this tool.
    var suggestion: String? { get }
}
