/// How a new migration is numbered.
public enum MigrationNumbering: Equatable, Sendable {
    /// Like the folder's latest migration: date and time if it has them, otherwise the next number.
    case asLatest

    /// The date and time in UTC, such as `20240105120000`.
    case timestamp

    /// A number that is counted elsewhere, such as `PRAGMA user_version`; the next number if it
    /// doesn't come after the folder's latest migration.
    case number(Int)
}
