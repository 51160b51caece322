import Foundation
import Testing

@testable import MigrationKitKeys

/// Containers and paper copies of keys.
@Suite struct RecoveryCopyTests {
    private static let passphrase = Secret(utf8: "Süßes oder Saures")

    private static func keys() throws -> [DatabaseKey] {
        [
            try .generate(),
            try .rawKey(bytes: .random(count: 48)),
            try .passphrase(Secret(utf8: "x")),
            try .passphrase(Secret(utf8: "correct horse — ünïcode")),
            try .passphrase(.random(count: 989)),
        ]
    }

    // MARK: - Container

    @Test func containerGivesBackTheKey() throws {
        for key in try Self.keys() {
            let container = try RecoveryContainer.seal(
                key,
                named: "org.notes (main)",
                with: Self.passphrase
            )
            let opened = try container.withUnsafeBytes {
                let copy = Secret(copying: $0)
                #expect(RecoveryContainer.isOne(copy))
                return try RecoveryContainer.open(copy, with: Self.passphrase, named: "a test")
            }
            #expect(opened == key)
        }
    }

    @Test func anyOtherPassphraseIsRefused() throws {
        let container = try RecoveryContainer.seal(.generate(), named: "", with: Self.passphrase)
        let copy = container.withUnsafeBytes(Secret.init(copying:))
        for other in ["süßes oder Saures", "Süßes oder Saure", "Süßes oder Saures "] {
            #expect(throws: RecoveryCopyError.wrongPassphrase(source: "a test")) {
                try RecoveryContainer.open(copy, with: Secret(utf8: other), named: "a test")
            }
        }
        for refused in ["", "a\nb", "a\0b", String(repeating: "x", count: 1024)] {
            #expect(throws: RecoveryCopyError.unusablePassphrase(limit: 1023)) {
                try RecoveryContainer.seal(.generate(), named: "", with: Secret(utf8: refused))
            }
        }
    }

    /// A flipped bit is refused, or is in a part that means nothing. Never is there another key.
    @Test func damagedContainerNeverGivesAnotherKey() throws {
        let key = try DatabaseKey.generate()
        let container = try RecoveryContainer.seal(key, named: "", with: Self.passphrase)
        var opened = 0
        for index in stride(from: 0, to: container.count, by: 7) {
            var damaged = container
            damaged[index] ^= 1 << UInt8(index % 8)
            let copy = damaged.withUnsafeBytes(Secret.init(copying:))
            do {
                let found = try RecoveryContainer.open(copy, with: Self.passphrase, named: "a test")
                #expect(found == key)
                opened += 1
            } catch is RecoveryCopyError {}
        }
        #expect(opened < 5)
    }

    // MARK: - Paper

    @Test func paperGivesBackTheKey() throws {
        for key in try Self.keys() {
            let text = try PaperCopy.text(of: key)
            #expect(try PaperCopy.key(in: text, named: "a test") == key)
        }
        #expect(throws: RecoveryCopyError.tooLongForPaper(limit: 989)) {
            try PaperCopy.text(of: .passphrase(.random(count: 990)))
        }
    }

    /// The format is documented, and Python's base64 and hashlib make the same of it.
    @Test func formatStays() throws {
        let digits = Secret(
            utf8: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
        )
        let text = try PaperCopy.text(of: .rawKey(hexadecimal: digits))
        #expect(
            text.unwipableText == """
                1/4 AAAA CAQD AQCQ MBYI  SUNK
                2/4 BEFA WDAN BYHR AEIS  OSHP
                3/4 CMKB KFQX DAMR UGY4  FIWL
                4/4 DUPB 6  SEYN

                """
        )
    }

    @Test func everyTypingErrorIsFoundInItsLine() throws {
        let text = try PaperCopy.text(of: .generate()).unwipableText
        let lines = text.split(separator: "\n").map(String.init)
        var count = 0
        for number in lines.indices {
            for place in lines[number].indices.dropFirst(4) where lines[number][place] != " " {
                for letter in "AZ27" where letter != lines[number][place] {
                    var typed = lines
                    typed[number].replaceSubrange(place...place, with: "\(letter)")
                    #expect(throws: RecoveryCopyError.wrongLine(number + 1)) {
                        try PaperCopy.key(
                            in: Secret(utf8: typed.joined(separator: "\n")),
                            named: "a test"
                        )
                    }
                    count += 1
                }
            }
        }
        #expect(count > 200)
    }

    @Test func linesOfTwoCopiesAreNotMixed() throws {
        let copies = try (0..<2).map { _ in
            try PaperCopy.text(of: .generate()).unwipableText.split(separator: "\n")
        }
        let mixed = ([copies[0][0]] + copies[1].dropFirst()).joined(separator: "\n")
        #expect(throws: RecoveryCopyError.wrongLine(2)) {
            try PaperCopy.key(in: Secret(utf8: mixed), named: "a test")
        }
        let exchanged = [copies[0][1], copies[0][0]].joined(separator: "\n")
        #expect(throws: RecoveryCopyError.missingLine(1, of: 4)) {
            try PaperCopy.key(in: Secret(utf8: exchanged), named: "a test")
        }
        #expect(throws: RecoveryCopyError.missingLine(4, of: 4)) {
            try PaperCopy.key(
                in: Secret(utf8: copies[0].dropLast().joined(separator: "\n")),
                named: "a test"
            )
        }
        #expect(throws: RecoveryCopyError.notACopy(source: "a test")) {
            try PaperCopy.key(in: Secret(utf8: "no copy\n1/0 AAAA\n5/4 AAAA"), named: "a test")
        }
    }
}
