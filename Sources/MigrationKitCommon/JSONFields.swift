/// The fields of a JSON object. One without a value is left out.
package struct JSONFields: Encodable, ExpressibleByDictionaryLiteral {
    private var report: (any Encodable)?
    private let fields: [(name: String, value: (any Encodable)?)]

    package init(dictionaryLiteral elements: (String, (any Encodable)?)...) {
        fields = elements.map { ($0, $1) }
    }

    /// The fields of a report, and others beside them.
    package init(_ report: (any Encodable)?, _ others: JSONFields) {
        self.report = report
        fields = others.fields
    }

    package func encode(to encoder: any Encoder) throws {
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

extension Encoder {
    /// Encodes a value as an object with these fields.
    package func encode(_ fields: JSONFields) throws {
        try fields.encode(to: self)
    }
}
