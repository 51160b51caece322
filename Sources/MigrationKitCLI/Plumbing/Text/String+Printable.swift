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
