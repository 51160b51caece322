import Foundation
import KeyStore

/// A JSON document with a key, of which no `String` is made: that could not be wiped.
enum RevealedKey {
    /// What `key show --reveal --json` prints.
    static func document(of entry: KeyEntry) throws -> Secret {
        let isText = entry.text.withUnsafeBytes { isUTF8($0) }
        // The document is made with a unique placeholder for the secret.
        let place = UUID().uuidString
        let text = try JSON.text(
            of: KeyItemDocument(
                item: KeyDescription(entry.item),
                encoding: isText ? "utf8" : "hexadecimal",
                secret: place
            )
        )
        let parts = text.components(separatedBy: place).map { Array($0.utf8) }
        let head = parts.first ?? []
        let tail = parts.dropFirst().first ?? []
        return entry.text.withUnsafeBytes { bytes in
            // A byte takes at most six characters: `\u001f`.
            Secret(
                capacity: head.count + 6 * bytes.count + tail.count,
                initializingWith: { memory in
                    var used = 0
                    func append(_ byte: UInt8) {
                        memory[used] = byte
                        used += 1
                    }
                    head.forEach(append)
                    bytes.forEach { isText ? escaped($0, append) : hexadecimal($0, append) }
                    tail.forEach(append)
                    return used
                }
            )
        }
    }

    /// A byte of a JSON string. <https://www.rfc-editor.org/rfc/rfc8259#section-7>
    private static func escaped(_ byte: UInt8, _ append: (UInt8) -> Void) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            append(UInt8(ascii: "\\"))
            append(byte)
        case 0..<0x20:
            "\\u00".utf8.forEach(append)
            hexadecimal(byte, append)
        default:
            append(byte)
        }
    }

    private static func hexadecimal(_ byte: UInt8, _ append: (UInt8) -> Void) {
        for digit in [byte >> 4, byte & 15] {
            append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }

    /// Checked in place, without a copy.
    private static func isUTF8(_ bytes: some Sequence<UInt8>) -> Bool {
        var decoder = UTF8()
        var iterator = bytes.makeIterator()
        while true {
            switch decoder.decode(&iterator) {
            case .scalarValue: continue
            case .emptyInput: return true
            case .error: return false
            }
        }
    }
}
