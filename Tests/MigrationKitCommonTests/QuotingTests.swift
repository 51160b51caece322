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
        "\\'; echo ran; #", "a\\\\b\\", "=ls", "a=b", "%self", "~", "::error::x", "\u{3000}",
        "a#''b",
        "!!", "$(echo ran)", "`echo ran`", "*", "{a,b}", "é|",
    ])
    func aShellReadsTheWordAsItWas(_ word: String) throws {
        let isShown = word.shellWord.unicodeScalars
            .allSatisfy {
                ![.control, .format, .lineSeparator].contains($0.properties.generalCategory)
            }
        #expect(isShown)
        #expect(!word.shellWord.contains("##["))
        #expect(!word.shellWord.contains("::"))
        // Those two have no notation for hidden characters.
        let hasEscapes = word.shellWord.contains("$'")
        for shell in hasEscapes ? ["bash", "zsh"] : ["bash", "zsh", "fish", "sh"] {
            let result = try run(shell, ["-c", "printf %s \(word.shellWord)"])
            #expect(Array(result.stdout.utf8) == Array(word.utf8), "\(shell)")
        }
    }
}
