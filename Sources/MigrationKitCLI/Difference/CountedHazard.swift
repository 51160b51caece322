import Foundation
import GRDB
import MigrationKitCommon
import MigrationKitSchema

/// A hazard, with the number of rows that it concerns.
struct CountedHazard: Equatable {
    let hazard: SchemaHazard
    /// `nil` without a database, or if they can't be counted.
    let rows: Int?

    /// A hazard for which no database is at hand.
    init(_ hazard: SchemaHazard) {
        self.hazard = hazard
        rows = nil
    }

    /// Counts the rows in a database.
    ///
    /// - Throws: A `DatabaseError` if the database can't be read.
    init(_ hazard: SchemaHazard, in db: Database) throws {
        self.hazard = hazard
        do {
            rows = try hazard.countQuery.flatMap { try Int.fetchOne(db, sql: $0) }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
            // An expression of the schema that a row doesn't suit, such as json() of another text.
            rows = nil
        }
    }
}

extension CountedHazard: Encodable {
    func encode(to encoder: any Encoder) throws {
        try encoder.encode(JSONFields(hazard, ["rows": rows]))
    }
}

extension SchemaHazard {
    /// Its name, with the table or column.
    var title: String {
        "\(kind.rawValue) \(table.printable)" + (column.map { ".\($0.printable)" } ?? "")
    }
}

extension CommandError {
    /// A migration may lose or refuse rows, and nobody has allowed it. Nothing was written.
    static func hazards(_ hazards: [CountedHazard]) -> CommandError {
        // Each kind once.
        let kinds = hazards.map(\.hazard.kind.rawValue).reduce(into: [String]()) { kinds, kind in
            if !kinds.contains(kind) { kinds.append(kind) }
        }
        let list = hazards.map { found in
            let rows = found.rows.map { ", \(counted($0, "row"))" } ?? ""
            // A name that a change brings must not look like a suggested command.
            return """
                \(found.hazard.title.printable)\(rows): \(found.hazard.message.printable)
                \(found.hazard.suggestion)
                """
        }
        let options = kinds.map { "--allow-hazard \($0)" }.joined(separator: " ")
        return CommandError(
            ErrorCode("hazard", .dataError),
            "the migration may lose or refuse rows: \(kinds.joined(separator: ", "))",
            """
            \(list.joined(separator: "\n"))
            Nothing was written. If it is meant, add: \(options)
            """
        )
    }
}
