/// A time as text: in milliseconds below a second.
func duration(_ seconds: Double) -> String {
    if seconds < 1 {
        return "\(Int((seconds * 1000).rounded())) ms"
    }
    let tenths = Int((seconds * 10).rounded())
    return "\(tenths / 10).\(tenths % 10) s"
}

extension UInt32 {
    /// A file's permissions, in octal digits.
    var octalMode: String {
        let digits = String(self, radix: 8)
        return String(repeating: "0", count: Swift.max(0, 4 - digits.count)) + digits
    }
}

extension String {
    /// The text without characters that control a terminal: labels come from other programs.
    var printable: String {
        // Most texts are plain ASCII, and a table may have thousands.
        if utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return self }
        return String(
            String.UnicodeScalarView(
                unicodeScalars.map {
                    $0.properties.generalCategory == .control ? "\u{FFFD}" : $0
                }
            )
        )
    }
}

extension String {
    /// The text as one word of a command line that can be pasted into a shell.
    var shellWord: String {
        let isPlain =
            !isEmpty
            && unicodeScalars.allSatisfy { scalar in
                !scalar.isASCII || scalar.properties.isAlphabetic
                    || "0123456789/._-+:=@%,".unicodeScalars.contains(scalar)
            }
        return isPlain
            ? self
            : "'\(split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''"))'"
    }
}
