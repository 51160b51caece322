import GRDB
import MigrationKit
import MigrationKitGRDB

/// What a downgrade takes back, and what goes with it.
public struct MigrationDowngrade: Equatable, Sendable {
    /// Content that a downgrade deletes.
    public struct Loss: Hashable, Encodable, Sendable {
        /// What goes.
        public enum Kind: String, Encodable, Sendable {
            /// The whole table.
            case table

            /// A column.
            case column

            /// Values of a column that stays.
            case values

            /// Rows of a table that stays.
            case rows
        }

        /// What goes.
        public let kind: Kind

        /// The table.
        public let table: String

        /// The column that goes; `nil` if none does.
        public let column: String?

        /// How many rows go, have a value in the column that goes, or another value afterwards. Of changed
        /// values, 0 if the database is too large for counting them.
        public let rows: Int
    }

    /// The identifiers of the steps, newest first.
    public let steps: [String]

    /// The tables and columns that go, and those that lose rows.
    public let losses: [Loss]
}

extension MigrationDowngrade.Loss: CustomStringConvertible {
    /// The loss, in one line.
    public var description: String {
        let count = rows == 1 ? "1 row" : "\(rows) rows"
        return switch kind {
        case .table: "table \(table), with \(count)"
        case .column: "column \(table).\(column ?? ""), with a value in \(count)"
        case .values where rows == 0: "values of column \(table).\(column ?? "")"
        case .values: "values of column \(table).\(column ?? ""), in \(count)"
        case .rows: "\(count) of table \(table)"
        }
    }
}

extension MigrationDowngrade: Encodable {
    private enum CodingKeys: String, CodingKey {
        case steps = "wouldTakeBack"
        case losses
    }
}
