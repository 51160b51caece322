import Testing

/// Expects that nothing in a text controls a terminal, and that no line is a command of GitHub's runner.
public func expectNoControls(
    in text: String,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    for line in text.split(separator: "\n") {
        #expect(!line.hasPrefix("::"), sourceLocation: sourceLocation)
        let controls = line.unicodeScalars.filter { $0.properties.generalCategory == .control }
        #expect(controls.isEmpty, sourceLocation: sourceLocation)
    }
}
