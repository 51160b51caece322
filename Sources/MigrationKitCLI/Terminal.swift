import Foundation
import KeyStore

/// The terminal that the process was started from.
enum Terminal {
    /// Whether standard output is one.
    static var isOutput: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Asks a question that is answered by yes or no. Ctrl-C ends the process, as anywhere.
    ///
    /// - Returns: Whether the answer was yes; `nil` where there is no terminal to ask on.
    static func confirm(_ question: String) -> Bool? {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else { return nil }
        let handle = FileHandle(fileDescriptor: terminal, closeOnDealloc: true)
        try? handle.write(contentsOf: Data("\(question) [y/N] ".utf8))
        // A terminal gives a line at a time; a longer one is no answer.
        let answer = (try? handle.read(upToCount: 256)) ?? Data()
        let words = String(decoding: answer, as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        return ["y", "yes"].contains(words.lowercased())
    }

    /// Writes a secret and a newline to standard output, past every buffer.
    static func reveal(_ secret: Secret) {
        fflush(nil)
        secret.withUnsafeBytes(writeAll)
        withUnsafeBytes(of: UInt8(ascii: "\n"), writeAll)
    }

    private static func writeAll(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        while !rest.isEmpty {
            let count = write(STDOUT_FILENO, rest.baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }
}
