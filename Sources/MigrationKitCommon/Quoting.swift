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

    /// The text as one word of a command line that can be pasted into a shell.
    ///
    /// A terminal shows it as it is: nothing in it is a control character or changes the order of what
    /// is shown, and GitHub's runner doesn't find its `##[` in it.
    package var shellWord: String {
        let isPlain =
            !isEmpty
            && unicodeScalars.allSatisfy { scalar in
                !scalar.isASCII && !scalar.isHidden || scalar.properties.isAlphabetic
                    || "0123456789/._-+:=@%,".unicodeScalars.contains(scalar)
            }
        guard !isPlain else { return self }
        // <https://www.gnu.org/software/bash/manual/bash.html#ANSI_002dC-Quoting>
        let parts = unicodeScalars.map { scalar -> String in
            switch scalar {
            case "'": "'\\''"
            case "#": "#''"
            case _ where scalar.isHidden:
                "'$'"
                    + String(scalar).utf8.map {
                        "\\x\(String(Int($0) + 256, radix: 16).dropFirst())"
                    }
                    .joined() + "''"
            default: String(scalar)
            }
        }
        return "'\(parts.joined())'"
    }
}
