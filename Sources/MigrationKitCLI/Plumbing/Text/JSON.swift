import Foundation

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

/// The fields of a JSON object. One without a value is left out.
struct JSONFields: Encodable, ExpressibleByDictionaryLiteral {
    private var report: (any Encodable)?
    private let fields: [(name: String, value: (any Encodable)?)]

    init(dictionaryLiteral elements: (String, (any Encodable)?)...) {
        fields = elements.map { ($0, $1) }
    }

    /// The fields of a report, and others beside them.
    init(_ report: (any Encodable)?, _ others: JSONFields) {
        self.report = report
        fields = others.fields
    }

    func encode(to encoder: any Encoder) throws {
        try report?.encode(to: encoder)
        var container = encoder.container(keyedBy: Name.self)
        for (name, value) in fields {
            if let value { try container.encode(value, forKey: Name(stringValue: name)) }
        }
    }

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }

        init?(intValue: Int) { nil }
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
