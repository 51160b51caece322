/// Both parts of a migration, checked.
struct MigrationScripts: Sendable {
    /// The script that applies the step. It may have no statement: the step is applied anyway.
    let up: SQLScript

    /// What takes it back; `nil` if nothing does.
    let down: SQLScript?

    /// The start of the up part, if it has no statement.
    let emptyUp: SQLPlace?

    /// Whether the file still has only its template.
    let isDraft: Bool

    /// Whether both run in a transaction.
    let usesTransaction: Bool

    /// Notes about statements that are allowed.
    let notes: [MigrationNote]

    /// Checks the parts of a migration.
    ///
    /// - Throws: ``MigrationFolderError`` for the first thing found that can't be used.
    init(_ parts: MigrationParts, of identifier: String, format: MigrationFormat) throws {
        for part in [parts.up, parts.down].compactMap({ $0 }) {
            try Self.check(part, usesTransaction: parts.usesTransaction, format: format)
        }
        let file = parts.up.outline.file
        let emptyUp = parts.up.statements.isEmpty ? file.place(at: parts.up.start) : nil
        self.up = SQLScript(file: file, ranges: parts.up.ranges)
        self.emptyUp = emptyUp
        self.isDraft = emptyUp != nil && format.implementation.isTemplate(file)
        self.down = parts.down.flatMap(Self.script)
        self.usesTransaction = parts.usesTransaction
        let noStatement =
            isDraft ? nil : emptyUp.map { MigrationNote(noStatementIn: identifier, at: $0) }
        let pragmas = [parts.up, parts.down].compactMap { $0 }.flatMap { part in
            part.statements.compactMap { statement in
                MigrationNote(
                    words: statement.words,
                    in: identifier,
                    usesTransaction: parts.usesTransaction,
                    at: part.outline.file.place(at: statement.range.lowerBound)
                )
            }
        }
        self.notes = [noStatement].compactMap { $0 } + pragmas
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
