import Foundation
import GRDB

/// How far the batches of a step came, as the journal keeps it.
struct BatchProgress: Codable, Equatable {
    /// The statement that is under way, counted from 0.
    var statement = 0

    /// The key of the last row of the batches so far; `nil` before the first one.
    var key: [Value]?

    /// The key of the last row when this way through the table began. Rows that come later are for the
    /// next one, so that each has an end.
    var last: [Value]?

    /// How often the statement has been over the whole table.
    var passes = 0

    /// The rows that the statement has changed since it began anew, and the time before that.
    var changes = 0
    var changesBefore = 0

    /// The rows that the step has changed.
    var rowsChanged = 0

    /// Counts commits that only empty the log: one that changes nothing doesn't.
    var waits = 0

    static func key(_ values: [DatabaseValue]?) -> [Value]? { values?.compactMap(Value.init) }

    /// A value of a key.
    enum Value: Codable, Equatable {
        case integer(Int64)
        case real(Double)
        case text(String)
        case blob(Data)

        fileprivate init?(_ value: DatabaseValue) {
            switch value.storage {
            case .null: return nil
            case .int64(let number): self = .integer(number)
            case .double(let number): self = .real(number)
            case .string(let text): self = .text(text)
            case .blob(let data): self = .blob(data)
            }
        }

        var databaseValue: DatabaseValue {
            switch self {
            case .integer(let number): number.databaseValue
            case .real(let number): number.databaseValue
            case .text(let text): text.databaseValue
            case .blob(let data): data.databaseValue
            }
        }
    }
}

extension BatchProgress {
    /// - Returns: `nil` if another program has written the text.
    init?(text: String) {
        guard let progress = try? JSONDecoder().decode(Self.self, from: Data(text.utf8)),
            [
                progress.statement, progress.passes, progress.changes, progress.changesBefore,
                progress.rowsChanged, progress.waits,
            ].allSatisfy((0...1 << 52).contains)
        else { return nil }
        self = progress
    }

    var text: String {
        get throws { String(decoding: try JSONEncoder().encode(self), as: UTF8.self) }
    }
}
