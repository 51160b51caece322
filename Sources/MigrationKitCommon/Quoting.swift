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
    package var shellWord: String {
        let isPlain =
            !isEmpty
            && unicodeScalars.allSatisfy { scalar in
                !scalar.isASCII || scalar.properties.isAlphabetic
                    || "0123456789/._-+:=@%,".unicodeScalars.contains(scalar)
            }
        return isPlain ? self : "'\(escaping("'", as: "'\\''"))'"
    }
}
