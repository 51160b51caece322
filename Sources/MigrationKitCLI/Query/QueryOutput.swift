import Foundation

/// Collects the bytes of rows, and writes them in large pieces.
///
/// A piece may end within a row, so that a value of any size is written in bounded memory. An
/// embedding program gets whole lines.
final class QueryOutput {
    private static let limit = 1 << 16

    private let context: CommandContext
    private var bytes: [UInt8] = []

    /// How many bytes were appended.
    var count: Int { written + bytes.count }
    private var written = 0

    /// Whether nobody reads the output any more, or it can't be written.
    private(set) var isLost = false

    init(_ context: CommandContext) {
        self.context = context
        bytes.reserveCapacity(2 * Self.limit)
    }

    func append(_ byte: UInt8) {
        bytes.append(byte)
    }

    func append(_ text: some Sequence<UInt8>) {
        bytes.append(contentsOf: text)
    }

    func append(_ text: StaticString) {
        text.withUTF8Buffer { bytes.append(contentsOf: $0) }
    }

    func append(_ piece: UnsafeBufferPointer<UInt8>) {
        bytes.append(contentsOf: piece)
    }

    /// Appends bytes, some of which need another one before them.
    @inline(__always)
    func append(_ piece: UnsafeBufferPointer<UInt8>, before: (UInt8) -> UInt8?) {
        var start = 0
        for (index, byte) in piece.enumerated() {
            guard let extra = before(byte) else { continue }
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: piece[start..<index]))
            bytes.append(extra)
            start = index
        }
        bytes.append(contentsOf: UnsafeBufferPointer(rebasing: piece[start...]))
    }

    /// Appends a number's digits.
    func append(_ number: Int64) {
        var rest = number.magnitude
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        let start = bytes.count
        repeat {
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        } while rest > 0
        bytes[start...].reverse()
    }

    func append(_ byte: UInt8, times count: Int) {
        bytes.append(contentsOf: repeatElement(byte, count: max(0, count)))
    }

    /// Removes spaces at the end of the line, which a table's last cell may leave.
    func trimSpaces() {
        while bytes.last == UInt8(ascii: " ") { bytes.removeLast() }
    }

    /// Ends a line. A terminal gets it at once.
    func endLine() {
        bytes.append(UInt8(ascii: "\n"))
        if bytes.count >= Self.limit || context.outputIsTerminal { flush() }
    }

    /// Writes what has grown too large within a line.
    func makeRoom() {
        if bytes.count >= Self.limit, context.write != nil { flush() }
    }

    /// Writes everything.
    func flush() {
        guard !bytes.isEmpty else { return }
        written += bytes.count
        if let write = context.write {
            isLost = !write(bytes) || isLost
        } else {
            let lines = bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes[...]
            context.output(String(decoding: lines, as: UTF8.self))
        }
        bytes.removeAll(keepingCapacity: true)
    }
}
