import Foundation
import MigrationKitCommon

/// The form of every JSON document that the tool prints: one line, keys in order.
enum JSON {
    static let schemaVersion = 1

    /// - Parameter isPretty: Whether each value has its own line, for a file that people compare.
    static func text(of document: some Encodable, isPretty: Bool = false) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if isPretty { encoder.outputFormatting.insert(.prettyPrinted) }
        return String(decoding: try encoder.encode(document), as: UTF8.self)
    }
}

extension CommandContext {
    /// Prints a document.
    ///
    /// - Parameters:
    ///   - report: What the library reports.
    ///   - fields: What the command knows beside it.
    func printJSON(_ report: (any Encodable)? = nil, fields: JSONFields = [:]) throws {
        let fields = JSONFields(report, fields)
        output(try JSON.text(of: JSONFields(fields, ["schemaVersion": JSON.schemaVersion])))
    }
}
