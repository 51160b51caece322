import Foundation

/// A value's text as it may be shown: nothing in it controls a terminal or changes the order of what
/// is around it.
enum ShownText {
    /// Whether each byte is a printable ASCII character, so that the text is shown unchanged, a column
    /// for a byte.
    static func isPlain(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        bytes.allSatisfy { $0 &- 0x20 < 0x5F }
    }

    /// The scalar that is shown in a scalar's place.
    static func shown(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        switch scalar.value {
        // Unicode has a picture of each control character of ASCII.
        case 0..<0x20: Unicode.Scalar(0x2400 + scalar.value) ?? "\u{FFFD}"
        case 0x20..<0x7F: scalar
        case 0x7F: "\u{2421}"
        // C1 controls; marks of direction (<https://www.unicode.org/reports/tr9/>); line and
        // paragraph separators; annotations; invisible tags.
        case 0x80..<0xA0, 0x61C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFFF9...0xFFFB,
            0xE0000...0xE007F:
            "\u{FFFD}"
        default: scalar
        }
    }

    /// How many columns of a terminal a scalar takes.
    static func width(_ scalar: Unicode.Scalar) -> Int {
        guard scalar.value >= 0x300 else { return 1 }
        let properties = scalar.properties
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: return isWide(scalar.value) || properties.isEmojiPresentation ? 2 : 1
        }
    }

    /// East Asian Wide and Fullwidth. <https://www.unicode.org/reports/tr11/>
    private static func isWide(_ value: UInt32) -> Bool {
        switch value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF,
            0xA000...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19,
            0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x17000...0x18CFF, 0x1B000...0x1B2FF,
            0x20000...0x3FFFD:
            true
        default: false
        }
    }

    /// The text in UTF-8, and its width in columns.
    ///
    /// - Parameter limit: The columns that it may take. A longer one ends with an ellipsis.
    static func cell(
        _ bytes: UnsafeBufferPointer<UInt8>,
        limit: Int
    ) -> (bytes: [UInt8], width: Int) {
        // More bytes than any text of that width should need: marks without a width could be endless.
        let head = UnsafeBufferPointer(rebasing: bytes.prefix(16 * limit + 64))
        if bytes.count <= limit, isPlain(bytes) { return (Array(bytes), bytes.count) }
        var (text, width) = (String.UnicodeScalarView(), 0)
        // Where it is cut if it turns out to be too long.
        var (kept, keptWidth) = (text.endIndex, 0)
        var isCut = head.count < bytes.count
        for scalar in String(decoding: head, as: UTF8.self).unicodeScalars.lazy.map(shown) {
            let columns = Self.width(scalar)
            guard width + columns <= limit else {
                isCut = true
                break
            }
            text.append(scalar)
            width += columns
            if width < limit { (kept, keptWidth) = (text.endIndex, width) }
        }
        guard isCut else { return (Array(String(text).utf8), width) }
        return (Array(String(text[..<kept]).utf8) + Array("…".utf8), keptWidth + 1)
    }

    /// Gives a text of any size to a closure in pieces of shown UTF-8.
    static func forEachPiece(
        of bytes: UnsafeBufferPointer<UInt8>,
        _ body: (UnsafeBufferPointer<UInt8>) -> Void
    ) {
        var rest = bytes[...]
        while !rest.isEmpty {
            var piece = rest.prefix(1 << 14)
            // Not within a character, if it is one.
            if piece.endIndex < rest.endIndex {
                for back in 1...3 where rest[piece.endIndex] & 0xC0 == 0x80 {
                    piece = rest.prefix((1 << 14) - back)
                }
            }
            rest = rest[piece.endIndex...]
            let plain = UnsafeBufferPointer(rebasing: piece)
            if isPlain(plain) {
                body(plain)
                continue
            }
            var text = String(
                String.UnicodeScalarView(
                    String(decoding: plain, as: UTF8.self).unicodeScalars.map(shown)
                )
            )
            text.withUTF8(body)
        }
    }
}
