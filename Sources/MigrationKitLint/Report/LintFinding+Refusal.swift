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
            case .transactionControl, .attachment, .vacuum, .durabilityPragma:
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
