/// The format of a folder's files: which tool's it is.
///
/// See <doc:MigrationKitSQL> for each of them.
public enum MigrationFormat: String, Equatable, Sendable, CaseIterable {
    /// `0001_name.sql` with the lines `-- migrate:up` and `-- migrate:down`.
    case dbmate

    /// `0001_name.sql` with the lines `-- +goose Up` and `-- +goose Down`.
    case goose

    /// `0001_name.up.sql` and `0001_name.down.sql`, as in golang-migrate and sqlx.
    case pairs

    /// `0001_name.sql` without a marker, which sqlx applies as a whole.
    case upOnly

    /// A folder `0001_name` with `up.sql` and `down.sql` in it.
    case diesel

    /// `V1__name.sql` and `U1__name.sql`; refinery has only the former.
    case flyway
}
