/// How the files of a folder are laid out: the tool whose form they have.
///
/// See <doc:MigrationKitSQL> for each of them.
public enum MigrationFormat: String, Equatable, Sendable, CaseIterable {
    /// `0001_name.sql` with the lines `-- migrate:up` and `-- migrate:down`.
    case dbmate

    /// `0001_name.sql` with the lines `-- +goose Up` and `-- +goose Down`.
    case goose

    /// `0001_name.up.sql` and `0001_name.down.sql`, as golang-migrate and sqlx have them.
    case pairs

    /// `0001_name.sql` without a marker, which sqlx applies as a whole.
    case upOnly

    /// A folder `0001_name` with `up.sql` and `down.sql` in it.
    case diesel

    /// `V1__name.sql` and `U1__name.sql`; refinery has the former as well.
    case flyway

    /// What the format is to a reader of a message, as the end of a sentence about a file.
    var phrase: String {
        switch self {
        case .dbmate: "has dbmate's markers"
        case .goose: "has goose's markers"
        case .pairs: "is one of a pair"
        case .upOnly: "has no marker"
        case .diesel: "is in a folder, as in diesel"
        case .flyway: "is named as in Flyway and refinery"
        }
    }

    /// The files of a migration, in one line.
    package var files: String {
        switch self {
        case .dbmate: "0001_name.sql with the lines '-- migrate:up' and '-- migrate:down'"
        case .goose: "0001_name.sql with the lines '-- +goose Up' and '-- +goose Down'"
        case .pairs: "0001_name.up.sql and 0001_name.down.sql, of golang-migrate and sqlx"
        case .upOnly: "0001_name.sql without a marker, of sqlx: no rollback"
        case .diesel: "A folder 0001_name with up.sql and down.sql in it"
        case .flyway: "V1__name.sql, and U1__name.sql to undo it, of Flyway and refinery"
        }
    }

    /// How a migration says that it runs outside of a transaction.
    package var wayOutOfTransaction: String {
        switch self {
        case .dbmate: "begins with: -- migrate:up transaction:false"
        case .goose: "has the line: -- +goose NO TRANSACTION"
        case .pairs, .upOnly: "has as its first line: -- no-transaction"
        case .diesel: "has a metadata.toml with the line: run_in_transaction = false"
        case .flyway:
            "can say that it runs outside of a transaction. This format can't: use another for "
                + "the folder"
        }
    }
}
