import MigrationKitKeys
import Testing

@Suite struct DatabaseKeyTests {
    private func digits(_ count: Int, upper: Bool = false) -> String {
        let digits = (0..<count).map { _ in String(Int.random(in: 0..<16), radix: 16) }.joined()
        return upper ? digits.uppercased() : digits
    }

    @Test(arguments: [64, 96], [true, false])
    func rawKeyIsReadFromItsDigits(count: Int, upper: Bool) throws {
        let digits = digits(count, upper: upper)
        let key = try DatabaseKey.rawKey(hexadecimal: Secret(utf8: digits))
        #expect(key.form == .rawKey)
        #expect(key.secret.count == count / 2)
        #expect(key.hexadecimal() == Secret(utf8: digits.lowercased()))
        #expect(try DatabaseKey(key.stored(), form: .rawKey) == key)
    }

    @Test func knownDigitsGiveKnownBytes() throws {
        let digits = String(repeating: "00fF10a9", count: 8)
        let key = try DatabaseKey.rawKey(hexadecimal: Secret(utf8: digits))
        #expect(key.secret.withUnsafeBytes { Array($0.prefix(4)) } == [0x00, 0xff, 0x10, 0xa9])
    }

    @Test(arguments: [1, 63, 65, 95, 97, 128])
    func wrongNumberOfDigitsIsRefused(count: Int) {
        #expect(throws: DatabaseKeyError.notHexadecimal(count: count)) {
            try DatabaseKey.rawKey(hexadecimal: Secret(utf8: digits(count)))
        }
    }

    @Test(arguments: ["g", "G", " ", "/", ":", "@", "`"])
    func whatIsNoDigitIsRefused(character: String) {
        for text in [character + digits(63), digits(63) + character] {
            #expect(throws: DatabaseKeyError.notHexadecimal(count: 64)) {
                try DatabaseKey.rawKey(hexadecimal: Secret(utf8: text))
            }
        }
    }

    @Test func rawKeyHas32Or48Bytes() throws {
        #expect(try DatabaseKey.rawKey(bytes: .random(count: 32)).form == .rawKey)
        #expect(try DatabaseKey.rawKey(bytes: .random(count: 48)).form == .rawKey)
        for count in [1, 31, 33, 64] {
            #expect(throws: DatabaseKeyError.wrongByteCount(count)) {
                try DatabaseKey.rawKey(bytes: .random(count: count))
            }
        }
    }

    @Test(arguments: ["x", "X"], [64, 96])
    func passphraseThatLooksLikeARawKeyIsRefused(prefix: String, count: Int) {
        for end in ["'", "\"", "z"] {
            #expect(throws: DatabaseKeyError.passphraseLooksLikeRawKey) {
                try DatabaseKey.passphrase(Secret(utf8: prefix + "'" + digits(count) + end))
            }
        }
    }

    @Test func passphraseThatOnlyResemblesOneIsFine() throws {
        for text in [
            "x'" + digits(63) + "'", "x'" + digits(65) + "'", "x'" + digits(63) + "g'",
            "y'" + digits(64) + "'", "x\"" + digits(64) + "\"", digits(64),
        ] {
            #expect(try DatabaseKey.passphrase(Secret(utf8: text)).secret == Secret(utf8: text))
        }
    }

    @Test func emptyIsRefusedInEveryForm() {
        let empty = Secret(utf8: "")
        #expect(throws: DatabaseKeyError.empty) { try DatabaseKey.passphrase(empty) }
        #expect(throws: DatabaseKeyError.empty) { try DatabaseKey.rawKey(hexadecimal: empty) }
        #expect(throws: DatabaseKeyError.empty) { try DatabaseKey.rawKey(bytes: empty) }
    }

    @Test func generatedKeysAreRawAndDiffer() throws {
        let (one, other) = (try DatabaseKey.generate(), try DatabaseKey.generate())
        #expect(one.form == .rawKey)
        #expect(one.secret.count == 32)
        #expect(one != other)
    }

    @Test func nothingShowsTheKey() throws {
        let key = try DatabaseKey.passphrase(Secret(utf8: "correct horse"))
        var shown = "\(key) \(String(reflecting: key))"
        dump(key, to: &shown)
        #expect(!shown.contains("horse"))
        #expect(shown.hasPrefix("<redacted> <redacted>"))
    }

    @Test func errorsNeverShowTheKeyAndSayWhatToDo() {
        let errors: [DatabaseKeyError] = [
            .empty, .passphraseLooksLikeRawKey, .notHexadecimal(count: 3),
            .notHexadecimal(count: 64), .wrongByteCount(3),
        ]
        for error in errors {
            #expect(error.errorDescription?.contains("\n") == false)
            #expect(error.recoverySuggestion?.isEmpty == false)
        }
    }
}
