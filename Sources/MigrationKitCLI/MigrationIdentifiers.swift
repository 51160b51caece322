import Foundation
import MigrationKit
import MigrationKitGRDB

extension GRDBMigrationRunner {
    /// The identifier that somebody means who types it, or the beginning of it.
    ///
    /// - Parameters:
    ///   - text: What was typed.
    ///   - unknown: The error for what no migration begins with.
    /// - Throws: ``UnknownMigration``; ``MigrationCLIError/ambiguousMigration(_:candidates:)``.
    func identifier(
        _ text: String,
        else unknown: (String) -> MigrationKitError = MigrationKitError.unknownMigrationIdentifier
    ) throws -> String {
        if migrationIdentifiers.contains(text) { return text }
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

/// A migration that isn't there, and the one that may have been meant.
struct UnknownMigration: Error {
    let error: MigrationKitError
    let nearest: String?
}

extension UnknownMigration: Classified {
    var errorDescription: String? { error.errorDescription }

    var recoverySuggestion: String? {
        nearest.map { "Did you mean '\($0)'?" } ?? error.recoverySuggestion
    }

    var classification: (code: String, exitCode: Int32) { error.classification }
}
