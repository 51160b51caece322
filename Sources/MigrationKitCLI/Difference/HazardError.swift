import Foundation
import MigrationKitCommon
import MigrationKitGRDB

/// A migration may lose or refuse rows, and nobody has allowed it. Nothing was written.
struct HazardError: Error, Equatable {
    struct Hazard: Equatable {
        let hazard: SchemaHazard
        /// How many rows are concerned in the database that was named; `nil` without one.
        let rows: Int?
    }

    let hazards: [Hazard]

    /// The kinds, each once.
    private var kinds: [String] {
        hazards.map(\.hazard.kind.rawValue).reduce(into: []) { kinds, kind in
            if !kinds.contains(kind) { kinds.append(kind) }
        }
    }
}

extension HazardError: CodedError {
    var errorDescription: String? {
        "the migration may lose or refuse rows: \(kinds.joined(separator: ", "))"
    }

    var recoverySuggestion: String? {
        let list = hazards.map { item in
            let rows =
                switch item.rows {
                case nil: ""
                case 1?: ", 1 row"
                case let count?: ", \(count) rows"
                }
            return """
                \(item.hazard.title)\(rows): \(item.hazard.message)
                \(item.hazard.suggestion)
                """
        }
        let options = kinds.map { "--allow-hazard \($0)" }.joined(separator: " ")
        return """
            \(list.joined(separator: "\n"))
            Nothing was written. If it is meant, add: \(options)
            """
    }

    var code: ErrorCode { ErrorCode("hazard", .dataError) }
}

extension SchemaHazard {
    /// Its name, with the table or column.
    var title: String {
        "\(kind.rawValue) \(table.printable)" + (column.map { ".\($0.printable)" } ?? "")
    }
}
