import MigrationKitCommon
import Foundation
import MigrationKit
import MigrationKitGRDB

extension GRDBMigrationRunner {
    /// The identifier for the text that the user typed: the whole identifier, or its beginning.
    ///
    /// - Parameters:
    ///   - text: What was typed.
    ///   - unknown: The error if no migration begins with it.
    /// - Throws: ``UnknownMigration``; ``MigrationCLIError/ambiguousMigration(_:candidates:)``.
    func identifier(
        _ text: String,
        else unknown: (String) -> MigrationKitError = MigrationKitError.unknownMigrationIdentifier
    ) throws -> String {
        if migrationIdentifiers.contains(text) { return text }
        // A number is compared as a whole: 1 means 0001, and isn't the beginning of 10.
        if text.allSatisfy({ ("0"..."9").contains($0) }), let number = text.number {
            let numbered = migrationIdentifiers.filter { $0.number == number }
            if numbered.count == 1 { return numbered[0] }
        }
        let candidates = text.isEmpty ? [] : migrationIdentifiers.filter { $0.hasPrefix(text) }
        guard candidates.count <= 1 else {
            throw MigrationCLIError.ambiguousMigration(text, candidates: candidates)
        }
        guard let candidate = candidates.first else {
            throw UnknownMigration(
                error: unknown(text),
                nearest: nearest(to: text, among: migrationIdentifiers)
            )
        }
        return candidate
    }
}

extension String {
    /// The number at the beginning of a name, without leading zeros.
    fileprivate var number: Substring? {
        let digits = drop { $0 == "V" }.prefix { ("0"..."9").contains($0) }
        return digits.isEmpty ? nil : digits.drop { $0 == "0" }
    }
}

/// A migration that doesn't exist, and the one that was probably meant.
struct UnknownMigration: Error {
    let error: MigrationKitError
    let nearest: String?
}

extension UnknownMigration: CodedError {
    var errorDescription: String? { error.errorDescription }

    var recoverySuggestion: String? {
        nearest.map { "Did you mean '\($0)'?" } ?? error.suggestion(program: "")
    }

    var code: ErrorCode { error.code }
}
