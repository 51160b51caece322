import MigrationKitCommon
import TestSupport
import Testing

@Suite struct QuotingTests {
    @Test func aQuoteBeforeACombiningMarkIsEscaped() {
        #expect("a\"\u{301}\"".escaping("\"", as: "\"\"") == "a\"\"\u{301}\"\"")
        #expect(Array("\u{301}'".escaping("'", as: "''").utf8) == Array("\u{301}''".utf8))
    }

    @Test(arguments: [
        "plain", "", "two words", "it's", "it'\u{301}s; id", "'\u{301}", "-x", "ü",
        "a\n.b\u{1B}]0;x\u{7}'c", "\u{9B}31m", "a\u{202E}b\u{2028}", "##[error]#",
    ])
    func aShellReadsTheWordAsItWas(_ word: String) throws {
        let isShown = word.shellWord.unicodeScalars
            .allSatisfy {
                ![.control, .format, .lineSeparator].contains($0.properties.generalCategory)
            }
        #expect(isShown)
        #expect(!word.shellWord.contains("##["))
        let result = try run("bash", ["-c", "printf %s \(word.shellWord)"])
        #expect(Array(result.stdout.utf8) == Array(word.utf8))
    }
}
