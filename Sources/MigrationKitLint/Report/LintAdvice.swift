/// What to do about an error of SQLite's for which there is a rule.
public struct LintAdvice: Equatable, Sendable {
    /// The rule whose page explains the error.
    public let rule: LintRule

    /// The safe pattern, in lines for people.
    public let text: String

    private init(_ rule: LintRule, _ text: String) {
        self.rule = rule
        self.text = text
    }

    /// Recognizes an error of a migration.
    ///
    /// - Parameter sqliteMessage: SQLite's message, such as `no such column: title`, or that of a
    ///   check of the foreign keys.
    /// - Returns: `nil` for an error without a rule.
    public init?(sqliteMessage: String) {
        // The words of a message, not the names in it, decide.
        let message = sqliteMessage.lowercased()
        guard let advice = Self.advice(for: message) else { return nil }
        self = advice
    }

    private static func advice(for message: String) -> LintAdvice? {
        func has(_ text: String) -> Bool { message.contains(text) }
        func begins(_ text: String) -> Bool { message.hasPrefix(text) }
        return constraint(begins: begins)
            ?? alteration(has: has, begins: begins)
            ?? name(has: has, begins: begins)
            ?? transaction(has: has, begins: begins)
    }

    /// A changed text would be refused there: see Documentation/Correcting.md.
    private static let ifAppliedElsewhere =
        "If other databases have it already, do that in a new migration before it."

    // https://github.com/sqlite/sqlite/blob/master/src/vdbe.c
    private static func constraint(begins: (String) -> Bool) -> LintAdvice? {
        if begins("foreign key constraint") {
            return LintAdvice(
                .mayViolateForeignKey,
                """
                A row refers to a parent that doesn't exist. First insert the parent, set the \
                reference to NULL, or delete the row; then migrate again. To rebuild a table, \
                which a migration does with foreign keys off: create the new table, copy all rows, \
                drop the old one, rename the new one.
                """
            )
        }
        if begins("foreign key mismatch") {
            return LintAdvice(
                .foreignKeyMismatch,
                "Give the parent's columns a PRIMARY KEY, or a UNIQUE index on exactly them."
            )
        }
        if begins("unique constraint failed") {
            return LintAdvice(
                .mayViolateUnique,
                """
                Merge or delete the duplicates in the same migration, before the index. \
                \(ifAppliedElsewhere)
                """
            )
        }
        if begins("not null constraint failed") {
            return LintAdvice(
                .mayViolateNotNull,
                """
                Give the rows a value in the same migration, before the column becomes NOT NULL. \
                \(ifAppliedElsewhere)
                """
            )
        }
        if begins("check constraint failed") {
            return LintAdvice(
                .mayViolateCheck,
                """
                Change the rows that don't satisfy it in the same migration, before the CHECK. \
                \(ifAppliedElsewhere)
                """
            )
        }
        if begins("cannot store ") {
            return LintAdvice(
                .mayViolateStrict,
                """
                CAST makes 12 of '12 kg' and 0 of 'abc'. First look at what it would change: \
                'SELECT * FROM t WHERE CAST(CAST(c AS INTEGER) AS TEXT) <> CAST(c AS TEXT)', with \
                the old table, the column and its new type. Say in the same migration what becomes \
                of these rows; then copy the others with CAST.
                """
            )
        }
        return nil
    }

    // https://github.com/sqlite/sqlite/blob/master/src/alter.c
    private static func alteration(
        has: (String) -> Bool,
        begins: (String) -> Bool
    ) -> LintAdvice? {
        if begins("cannot add a not null column") {
            return LintAdvice(
                .addColumnFails,
                """
                The rows that exist would have no value. Give the column a constant DEFAULT. Or \
                add it without NOT NULL, fill it with UPDATE, and rebuild the table with NOT NULL.
                """
            )
        }
        if begins("cannot add a ") {
            return LintAdvice(
                .addColumnFails,
                "Rebuild the table with the new column, or add a plain one and fill it with UPDATE."
            )
        }
        if begins("duplicate column name") {
            return LintAdvice(
                .addColumnFails,
                """
                The table has the column already: an earlier migration, another tool or the app \
                has added it. If the migration's whole result is there, 'repair --applied' records \
                it as applied. Otherwise choose another name, or leave the column out.
                """
            )
        }
        let afterDrop = begins("error in ") && has(" after drop column")
        if begins("cannot drop ") && has(" column") || afterDrop {
            return LintAdvice(
                .dropColumnFails,
                """
                Drop what uses the column first (indexes, triggers, views), and create it again \
                without the column. A column that is part of a key, a constraint or a generated \
                column needs a rebuild of the table.
                """
            )
        }
        if begins("error in ") {
            return LintAdvice(
                .danglingReference,
                "Drop the view or trigger before the change, and create it again after it."
            )
        }
        return nil
    }

    private static func name(has: (String) -> Bool, begins: (String) -> Bool) -> LintAdvice? {
        if has("already exists"), !begins("there is already") {
            return LintAdvice(
                .migrationFails,
                """
                An earlier migration, another tool or the app has created it. If the migration's \
                whole result is there, 'repair --applied' records it as applied. IF NOT EXISTS would \
                hide that the existing one is different.
                """
            )
        }
        // https://github.com/sqlite/sqlite/blob/master/src/resolve.c
        if begins("no such column"), has("should this be a string literal") {
            return LintAdvice(
                .doubleQuotedString,
                """
                Double quotes are for names: write strings in single quotes. To run old migrations as \
                they are, set double-quoted-strings = true in migrationkit.toml. An app that is to \
                accept them sets GRDB's acceptsDoubleQuotedStringLiterals.
                """
            )
        }
        if begins("no such column") || has(" has no column named ") {
            return LintAdvice(
                .migrationFails,
                """
                At this point the table doesn't have the column: it was renamed, dropped, or is \
                added by a later migration. Migrations run in the order of their numbers.
                """
            )
        }
        if begins("no such table") || begins("no such index") || begins("no such view") {
            return LintAdvice(
                .migrationFails,
                """
                At this point it doesn't exist: it was renamed, dropped, or is created by a later \
                migration. Migrations run in the order of their numbers.
                """
            )
        }
        return nil
    }

    private static func transaction(
        has: (String) -> Bool,
        begins: (String) -> Bool
    ) -> LintAdvice? {
        if begins("temporary storage cannot be changed") {
            return LintAdvice(.temporaryObject, "Remove the statement.")
        }
        if has("within a transaction") || has("inside a transaction") {
            return LintAdvice(
                .noEffectInTransaction,
                "Remove the statement, or put it into a migration outside of a transaction."
            )
        }
        return nil
    }
}
