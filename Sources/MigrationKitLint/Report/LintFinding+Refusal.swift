import MigrationKitSQL

extension LintFinding {
    /// A statement for which a folder of migrations can't be used at all.
    ///
    /// - Parameter refusal: The statement, and where it stands.
    package init(_ refusal: MigrationFolder.Refusal) {
        let rule: LintRule =
            switch refusal.statement {
            case .encryptionPragma: .secretInMigration
            case .temporaryStoragePragma: .temporaryObject
            case .transactionControl, .ownTransaction, .attachment, .vacuum, .durabilityPragma:
                .noEffectInTransaction
            }
        self.init(
            rule: refusal.givesKey ? .secretInMigration : rule,
            // Whatever the settings say: 'migrate' refuses the whole folder.
            level: .error,
            migration: refusal.identifier,
            file: refusal.place.file,
            line: refusal.place.line,
            column: refusal.place.column,
            message: "a migration can't contain \(refusal.statement.name): "
                + refusal.statement.reason
                + (refusal.givesKey && refusal.statement != .encryptionPragma
                    ? "; and it contains a key, which everyone who has the file can read" : ""),
            fix: refusal.advice
        )
    }
}

extension LintFinding {
    /// An error for which a folder of migrations can't be used at all. If it is of no file, the
    /// finding's is `.`, the folder.
    package init(_ error: MigrationFolderError) {
        let message = error.localizedDescription
        let prefix = error.place.map { "\($0): " } ?? error.file.map { "\($0): " } ?? ""
        self.init(
            rule: .migrationFails,
            level: .error,
            migration: error.file.map { String($0.prefix { $0 != "." }) } ?? "",
            file: error.file ?? ".",
            line: error.place?.line,
            column: error.place?.column,
            message: message.hasPrefix(prefix) ? String(message.dropFirst(prefix.count)) : message,
            fix: error.advice
        )
    }
}
