/// Both parts of a migration, checked.
struct MigrationScripts: Sendable {
    /// What applies the step.
    let up: SQLScript

    /// What takes it back; `nil` if nothing does.
    let down: SQLScript?

    /// Whether both run in a transaction.
    let usesTransaction: Bool

    /// What is worth knowing about statements that are allowed.
    let notes: [MigrationNote]

    /// Checks the parts of a migration.
    ///
    /// - Throws: ``MigrationFolderError`` for the first thing found that can't be used.
    init(_ parts: MigrationParts, of identifier: String, format: MigrationFormat) throws {
        for part in [parts.up, parts.down].compactMap({ $0 }) {
            try Self.check(part, usesTransaction: parts.usesTransaction, format: format)
        }
        guard let up = Self.script(parts.up) else {
            throw MigrationFolderError.emptyUpPart(
                at: parts.up.outline.file.place(at: parts.up.start)
            )
        }
        self.up = up
        self.down = parts.down.flatMap(Self.script)
        self.usesTransaction = parts.usesTransaction
        self.notes = [parts.up, parts.down].compactMap { $0 }.flatMap { part in
            part.statements.compactMap { statement in
                MigrationNote(
                    words: statement.words,
                    in: identifier,
                    usesTransaction: parts.usesTransaction,
                    at: part.outline.file.place(at: statement.range.lowerBound)
                )
            }
        }
    }

    private static func check(
        _ part: MigrationParts.Part,
        usesTransaction: Bool,
        format: MigrationFormat
    ) throws {
        for statement in part.statements {
            guard let refused = RefusedStatement(words: statement.words),
                usesTransaction || refused != .vacuum
            else { continue }
            throw MigrationFolderError.refusedStatement(
                refused,
                in: format,
                at: part.outline.file.place(at: statement.range.lowerBound)
            )
        }
    }

    /// - Returns: `nil` if the part has no statement.
    private static func script(_ part: MigrationParts.Part) -> SQLScript? {
        guard !part.statements.isEmpty else { return nil }
        return SQLScript(file: part.outline.file, ranges: part.ranges)
    }
}
