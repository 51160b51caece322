extension String {
    /// The text without what would move a terminal's cursor: labels are other programs' words.
    var printable: String {
        // Most are plain ASCII, and a table may have thousands.
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
