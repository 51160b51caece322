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
