import MigrationKitSQLCipher

/// JSON: an object for each row, alone on its line. Together they are one document, or a document each
/// (JSON Lines, <https://jsonlines.org>).
///
/// What JSON has no value for is an object with the type's name: a blob and a text that isn't UTF-8
/// with their bytes in hexadecimal digits, and the infinities.
struct JSONRows: RowFormat {
    let isDocument: Bool
    /// Further keys of the document, with their values in JSON. They are known after the rows.
    let extra: () -> [(String, String)]

    private var keys: [[UInt8]] = []
    private var count = 0

    init(isDocument: Bool, extra: @escaping () -> [(String, String)]) {
        self.isDocument = isDocument
        self.extra = extra
    }

    mutating func begin(_ columns: [String], to output: QueryOutput) {
        let names = Self.unique(columns)
        keys = names.map { Array(quoted($0).utf8) + [UInt8(ascii: ":")] }
        guard isDocument else { return }
        output.append("{\"columns\":[")
        output.append(names.map(quoted).joined(separator: ",").utf8)
        output.append("],\"rows\":[")
    }

    mutating func add(_ row: QueryStatement, to output: QueryOutput) throws {
        if isDocument {
            if count > 0 { output.append(UInt8(ascii: ",")) }
            output.endLine()
        }
        count += 1
        output.append(UInt8(ascii: "{"))
        for column in row.columns.indices {
            if column > 0 { output.append(UInt8(ascii: ",")) }
            output.append(keys[column])
            try value(row, column, to: output)
        }
        output.append(UInt8(ascii: "}"))
        if !isDocument { output.endLine() }
    }

    mutating func end(to output: QueryOutput) {
        guard isDocument else { return }
        output.append("],")
        for (key, value) in extra() { output.append("\"\(key)\":\(value),".utf8) }
        output.append("\"schemaVersion\":\(JSON.schemaVersion)}".utf8)
        output.endLine()
    }

    /// The names with a number where one occurs again: an object's keys must differ.
    static func unique(_ names: [String]) -> [String] {
        var used = Set<String>()
        return names.map { name in
            var (own, number) = (name, 1)
            while !used.insert(own).inserted {
                number += 1
                own = "\(name):\(number)"
            }
            return own
        }
    }

    // MARK: - Values

    private func value(_ row: QueryStatement, _ column: Int, to output: QueryOutput) throws {
        switch row.kind(column) {
        case .null: output.append("null")
        case .integer: output.append(row.integer(column))
        case .real:
            let number = row.real(column)
            guard number.isFinite else {
                output.append("{\"type\":\"real\",\"value\":\"")
                return output.append((number < 0 ? "-Infinity\"}" : "Infinity\"}").utf8)
            }
            output.append(number.description.utf8)
        case .text:
            try row.withBytes(column) { bytes in
                guard isUTF8(bytes) else {
                    return self.bytes("text", bytes, row, to: output)
                }
                output.append(UInt8(ascii: "\""))
                escape(bytes, to: output)
                output.append(UInt8(ascii: "\""))
            }
        case .blob:
            try row.withBytes(column) { bytes("blob", $0, row, to: output) }
        }
    }

    private func bytes(
        _ type: String,
        _ bytes: UnsafeBufferPointer<UInt8>,
        _ row: QueryStatement,
        to output: QueryOutput
    ) {
        output.append("{\"hex\":\"")
        row.printDigits(of: bytes, to: output)
        output.append("\",\"type\":\"\(type)\"}".utf8)
    }

    private func quoted(_ name: String) -> String {
        let text = (try? JSON.text(of: name)) ?? "\"\""
        let scalars = text.unicodeScalars.map { scalar in
            ShownText.shown(scalar) == scalar
                ? String(scalar)
                : String(scalar).utf16
                    .map { "\\u\(String(UInt32($0) + 0x10000, radix: 16).dropFirst())" }.joined()
        }
        return scalars.joined()
    }

    private func isUTF8(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        if ShownText.isPlain(bytes) { return true }
        do {
            _ = try UTF8Span(validating: bytes.span)
            return true
        } catch {
            return false
        }
    }

    /// Prints a valid text within quotes. Controls are escaped, those above ASCII too: the document
    /// may be shown on a terminal.
    private func escape(_ bytes: UnsafeBufferPointer<UInt8>, to output: QueryOutput) {
        var start = 0
        for index in bytes.indices {
            if index < start { continue }
            let byte = bytes[index]
            let next = index + 1 < bytes.count ? bytes[index + 1] : 0
            let isPlain: Bool
            switch byte {
            case 0x22, 0x5C, 0..<0x20, 0x7F: isPlain = false
            // U+0080 to U+009F.
            case 0xC2: isPlain = next >= 0xA0
            // U+061C, a mark of direction.
            case 0xD8: isPlain = next != 0x9C
            // U+2000 to U+207F, which has the marks of direction and the separators of lines.
            case 0xE2: isPlain = next != 0x80 && next != 0x81
            default: isPlain = true
            }
            if isPlain { continue }
            output.append(bytes[start..<index])
            start = index + special(bytes, index, to: output)
            output.makeRoom()
        }
        for first in stride(from: start, to: bytes.count, by: 1 << 14) {
            output.append(bytes[first..<min(bytes.count, first + (1 << 14))])
            output.makeRoom()
        }
    }

    /// Prints one character that may need an escape.
    ///
    /// - Returns: How many bytes it has.
    private func special(
        _ bytes: UnsafeBufferPointer<UInt8>,
        _ index: Int,
        to output: QueryOutput
    ) -> Int {
        switch bytes[index] {
        case 0x22: output.append("\\\"")
        case 0x5C: output.append("\\\\")
        case 0x0A: output.append("\\n")
        case 0x09: output.append("\\t")
        case 0x0D: output.append("\\r")
        case let byte where byte < 0x80: code(UInt16(byte), to: output)
        case let byte:
            let count = byte < 0xE0 ? 2 : 3
            let own = UnsafeBufferPointer(rebasing: bytes[index..<(index + count)])
            let scalar = String(decoding: own, as: UTF8.self).unicodeScalars.first ?? "?"
            if ShownText.shown(scalar) == scalar {
                output.append(own)
            } else {
                code(UInt16(scalar.value), to: output)
            }
            return count
        }
        return 1
    }

    private func code(_ value: UInt16, to output: QueryOutput) {
        output.append("\\u")
        for shift in [12, 8, 4, 0] {
            output.append(QueryStatement.digit(UInt8(value >> shift & 15)))
        }
    }
}
