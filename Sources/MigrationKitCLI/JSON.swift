import Foundation

/// The form of every JSON document that the tool prints: one line, keys in order.
enum JSON {
    static let schemaVersion = 1

    static func text(of document: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(document), as: UTF8.self)
    }
}
