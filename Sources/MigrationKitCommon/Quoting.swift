extension Unicode.Scalar {
    /// Whether it controls a terminal, or ends a line.
    package var isControl: Bool { properties.generalCategory == .control }

    /// Whether it isn't shown, but may change how others are.
    fileprivate var isHidden: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}

extension String {
    /// The text with another spelling of one of its characters, such as a quote.
    ///
    /// In Swift, a quote and a combining mark after it are one `Character`, which isn't a quote. SQLite
    /// and shells read bytes, and see the quote. So this looks at scalars.
    package func escaping(_ scalar: Unicode.Scalar, as escape: String) -> String {
        var result = UnicodeScalarView()
        for next in unicodeScalars {
            if next == scalar { result += escape.unicodeScalars } else { result.append(next) }
        }
        return String(result)
    }

    /// The text as one word of a command line that can be pasted into bash, zsh, fish or sh. Those two
    /// have no notation for hidden characters, and run nothing either.
    ///
    /// A terminal shows it as it is: nothing in it is a control character or changes the order of what
    /// is shown, and GitHub's runner doesn't find its `##[` or `::` in it.
    package var shellWord: String {
        let plain = "0123456789/._-+:=@,".unicodeScalars
        let isPlain =
            unicodeScalars.allSatisfy {
                $0.isASCII && ($0.properties.isAlphabetic || plain.contains($0))
            }
            && !isEmpty && !hasPrefix("=") && !contains("::")
        guard !isPlain else { return self }
        // <https://www.gnu.org/software/bash/manual/bash.html#ANSI_002dC-Quoting>
        let parts = unicodeScalars.map { scalar -> String in
            switch scalar {
            // Between single quotes, fish takes a backslash for an escape.
            case "'", "\\": "'\\\(scalar)'"
            case "#": "'\"#\"'"
            case _ where scalar.isHidden:
                "'$'"
                    + String(scalar).utf8.map {
                        "\\x\(String(Int($0) + 256, radix: 16).dropFirst())"
                    }
                    .joined() + "''"
            default: String(scalar)
            }
        }
        return "'\(parts.joined().replacing("::", with: ":'\":\"'"))'"
    }

    /// The path as one word of a command line, which no program takes for an option.
    package var shellPath: String {
        (hasPrefix("-") ? "./\(self)" : self).shellWord
    }
}

/// A number of things: `1 row`, `2 rows`.
///
/// - Parameter noun: The thing in the singular, whose plural ends with `s`.
package func counted(_ count: Int, _ noun: String) -> String {
    "\(count) \(noun)\(count == 1 ? "" : "s")"
}
