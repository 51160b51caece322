extension String {
    /// The text without what would move a terminal's cursor: labels are other programs' words.
    var printable: String {
        String(
            String.UnicodeScalarView(
                unicodeScalars.map {
                    $0.properties.generalCategory == .control ? "\u{FFFD}" : $0
                }
            )
        )
    }
}
