import Foundation
import MigrationKitCommon

/// A migration between two schemas doesn't do what it should.
public struct SchemaMigrationProofError: Error, Equatable, Sendable {
    /// The parts of a proof.
    public enum Stage: String, Sendable {
        /// Before anything ran.
        case start
        case up
        case down
        case upAgain = "up-again"
        /// In the text, by a rule of the linter.
        case lint
        /// In the wanted schema itself.
        case wanted
    }

    /// When it was seen.
    public let stage: Stage

    /// What is wrong, as the end of a sentence. No values of rows.
    public let reason: String

    /// Whether the migration refuses rows of a real database. Otherwise it is a fault of this
    /// package.
    public internal(set) var isRefusal: Bool

    /// Whether an expression can't be computed, which usually depends on the rows.
    let isOfValues: Bool

    /// The statements that create the present schema.
    public let from: [String]

    /// The statements that create the wanted schema.
    public let to: [String]

    /// The statements of the migration.
    public let up: [String]

    /// The statements of the way back.
    public let down: [String]
}

extension SchemaMigrationProofError: CodedError {
    /// What is wrong, in one line.
    public var errorDescription: String? {
        switch stage {
        case .start:
            "the database doesn't have the schema that the migration begins with: \(reason)"
        case .up where isRefusal: "the migration refuses rows of the database: \(reason)"
        case .up: "the migration is wrong: when it is applied, \(reason)"
        case .down: "the migration is wrong: in the rollback, \(reason)"
        case .upAgain: "the migration is wrong: on applying it again, \(reason)"
        case .lint: "the migration is wrong: \(reason)"
        case .wanted: "the wanted schema is wrong: \(reason)"
        }
    }

    /// What to do about it, with the case.
    public var recoverySuggestion: String? {
        if stage == .start {
            return "Nothing was written. Bring the database to the present schema, then try again."
        }
        if stage == .wanted {
            return "Nothing was written. Correct the wanted schema, then try again."
        }
        guard !isRefusal else {
            return "Nothing was written. Correct those rows first, by a migration of its own."
        }
        let parts = [
            ("The present schema:", from), ("The wanted schema:", to), ("The migration:", up),
            ("The rollback:", down),
        ]
        let text = parts.map { title, statements in
            let lines = statements.flatMap { ($0 + ";").split(separator: "\n") }
            return ([title] + lines.map { "  \($0)" }).joined(separator: "\n")
        }.joined(separator: "\n")
        return """
            This is a fault of MigrationKit. Nothing was written. Please report it, with this case:
            \(text)
            """
    }

    /// The error's code for programs, and its exit status.
    public var code: ErrorCode {
        switch stage {
        case .start: ErrorCode("otherSchema", .dataError)
        case .wanted: ErrorCode("brokenSchema", .dataError)
        case .up where isRefusal: ErrorCode("hazard", .dataError)
        case .up, .down, .upAgain, .lint: ErrorCode("migrationNotProven", .verificationFailed)
        }
    }
}
