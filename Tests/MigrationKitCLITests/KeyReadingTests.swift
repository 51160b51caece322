import Foundation
import TestSupport
import Testing

/// Keys as other programs write them.
@Suite struct KeyReadingTests {
    /// A notation, made from the key's digits and its bytes.
    struct Notation: CustomTestStringConvertible {
        let name: String
        let text: @Sendable (_ digits: String, _ bytes: Data) -> Data

        var testDescription: String { name }

        init(_ name: String, _ text: @escaping @Sendable (String, Data) -> Data) {
            (self.name, self.text) = (name, text)
        }

        init(_ name: String, text: @escaping @Sendable (String, Data) -> String) {
            self.init(name) { Data(text($0, $1).utf8) }
        }
    }

    static let notations = [
        Notation("x'…'", text: { digits, _ in "x'\(digits)'" }),
        Notation("x'…'", text: { digits, _ in "  X'\(digits.uppercased())'\r\n" }),
        Notation("x\"…\"", text: { digits, _ in "x\"\(digits)\"" }),
        Notation(
            "digits with colons",
            text: { _, bytes in
                bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: ":")
            }
        ),
        Notation("0x…", text: { digits, _ in "0x\(digits)\n" }),
        Notation("32 bytes", { _, bytes in bytes }),
        Notation("base64", text: { _, bytes in bytes.base64EncodedString() }),
        Notation(
            "base64",
            text: { _, bytes in
                bytes.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
                    .replacing("=", with: "")
            }
        ),
        Notation("base64", text: { digits, _ in Data(digits.utf8).base64EncodedString() }),
        Notation(
            "go-keyring-base64",
            text: { digits, _ in
                "go-keyring-base64:\(Data(digits.utf8).base64EncodedString())"
            }
        ),
        Notation(
            "a field of JSON",
            text: { digits, _ in
                #"{"name": "no \"key\"", "list": [1, "a"], "key" : "\#(digits)"}"#
            }
        ),
        Notation("a field of JSON", text: { digits, _ in #"[{"k": "\u0078'\#(digits)'"}]"# }),
        Notation(
            "a field of JSON",
            text: { _, bytes in
                #"{"type": "Buffer", "data": [\#(bytes.map(String.init).joined(separator: ", "))]}"#
            }
        ),
        Notation("a field of JSON", text: { _, bytes in "\(Array(bytes))" }),
        Notation(
            "a field of JSON in go-keyring-base64",
            text: { digits, _ in
                "go-keyring-base64:\(Data(#"{"key": "\#(digits)"}"#.utf8).base64EncodedString())"
            }
        ),
        Notation("text in UTF-16", { digits, _ in utf16(digits, .little, hasMark: true) }),
        Notation("text in UTF-16", { digits, _ in utf16(digits + "\r\n", .big, hasMark: true) }),
        Notation("text in UTF-16", { digits, _ in utf16(digits, .little, hasMark: false) }),
        Notation("text in quotes or spaces", text: { digits, _ in "\u{feff}\"\(digits)\" \n\n" }),
    ]

    private enum ByteOrder { case little, big }

    private static func utf16(_ text: String, _ order: ByteOrder, hasMark: Bool) -> Data {
        let units = (hasMark ? [0xfeff] : []) + Array(text.utf16)
        return Data(
            units.flatMap { unit in
                withUnsafeBytes(of: order == .big ? unit.bigEndian : unit.littleEndian, Array.init)
            }
        )
    }

    private func check(_ tool: Tool, _ notation: String) throws {
        let file = tool.folder.path("written")
        let database = ["--db-path", tool.database]
        let found = try tool.run(["key", "find", "--json", "--key-file", file] + database)
        let places = try found.json()["found"] as? [[String: Any]]
        #expect(places?.first?["notation"] as? String == notation, "\(found)")
        #expect(places?.first?["options"] as? [String] == [], "\(found)")
        let text = try tool.run(["key", "find", "--key-file", file] + database)
        #expect(text.stdout.contains("It is written as \(notation)."), "\(text)")
        #expect(!"\(found)\(text)".contains(tool.password))
        // It is kept as this tool writes keys.
        let output = tool.folder.path("kept")
        let kept = try tool.run(["key", "import", file, "--output", output, "--json"] + database)
        #expect(try kept.json()["notation"] as? String == notation, "\(kept)")
        #expect(try tool.folder.data("kept") == Data(tool.password.utf8))
    }

    @Test(arguments: notations) func rawKeysOfOtherProgramsAreFound(_ notation: Notation) throws {
        let tool = try Tool.withoutSecretStore(isRawKey: true)
        _ = try tool.shell("CREATE TABLE t(a);")
        let digits = Array(tool.password)
        let bytes = stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(digits[$0...($0 + 1)]), radix: 16)
        }
        try tool.folder.write("written", notation.text(tool.password, Data(bytes)))
        try check(tool, notation.name)
    }

    @Test func whatWasLeftOutIsSaid() throws {
        let tool = try Tool.withoutSecretStore(isRawKey: true)
        _ = try tool.shell("CREATE TABLE t(a);")
        let folder = tool.folder.path("keys")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try tool.folder.write("keys/other.db", [UInt8](repeating: 1, count: 70_000))
        let lines = (0..<20).map { _ in ToolFolder.randomDigits(count: 64) }
        try tool.folder.write("keys/lines", lines.joined(separator: "\n").utf8)
        let database = ["--db-path", tool.database]
        let found = try tool.run(["key", "find", "--key-file", folder] + database)
        #expect(found.status == 69, "\(found)")
        let text = found.stderr.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(
            text.contains("keys/other.db isn't a key: it has more than 65536 bytes"),
            "\(found)"
        )
        #expect(text.contains("SQLite3 Multiple Ciphers with its setting legacy"), "\(found)")
    }

    /// A line feed at the end of the bytes was taken for the end of a line.
    @Test func bytesMayEndLikeALine() throws {
        let tool = try Tool.withoutSecretStore(isRawKey: true)
        let digits = ToolFolder.randomDigits(count: 60) + "0d0a"
        try tool.folder.write("password", digits.utf8)
        _ = try SQLCipherShell.run(tool.database, key: "x'\(digits)'", "CREATE TABLE t(a);")
        let text = Array(digits)
        let bytes = stride(from: 0, to: 64, by: 2).compactMap {
            UInt8(String(text[$0...($0 + 1)]), radix: 16)
        }
        try tool.folder.write("written", bytes)
        let found = try tool.run(
            ["key", "find", "--db-path", tool.database, "--key-file", tool.folder.path("written")]
        )
        #expect(found.stdout.contains("It is written as 32 bytes."), "\(found)")
    }

    @Test(arguments: [
        ("text in quotes or spaces", "\"PASSPHRASE\""), ("base64", "BASE64"),
        ("a field of JSON", "{\"password\": \"PASSPHRASE\"}"),
        ("text in NFD", "NFC"), ("text with its line feed", "PASSPHRASE"),
        ("text with a mark of byte order", "\u{feff}PASSPHRASE "),
        ("a line of settings", "# keys\nuser = me\nPASSWORD = 'PASSPHRASE'\n"),
        ("0x…", "0xHEX"), ("x'…'", "x'HEX'"), ("hexadecimal digits", "HEX"),
        ("go-keyring-encoded", "go-keyring-encoded:HEX"),
        ("bytes before a NUL", "PASSPHRASE\0more"),
    ])
    func passphrasesOfOtherProgramsAreFound(_ notation: String, _ text: String) throws {
        let tool = try Tool.withoutSecretStore(isRawKey: false)
        let passphrase = "Zettel für später \(tool.password)"
        var key = passphrase.decomposedStringWithCanonicalMapping
        if notation != "text in NFD" { key = "Zettel \(tool.password)" }
        let spelled = text.replacing("PASSPHRASE", with: key)
            .replacing("BASE64", with: Data(key.utf8).base64EncodedString())
            .replacing("NFC", with: passphrase.precomposedStringWithCanonicalMapping)
            .replacing(
                "HEX",
                with: Data(key.utf8).map { String(Int($0) | 256, radix: 16).dropFirst() }.joined()
            )
        if notation.hasSuffix("line feed") { key += "\n" }
        if notation.hasSuffix("byte order") { key += " " }
        _ = try SQLCipherShell.run(tool.database, key: key, "CREATE TABLE t(a);")
        try tool.folder.write("written", spelled.utf8)
        let found = try tool.run(
            ["key", "find", "--db-path", tool.database, "--key-file", tool.folder.path("written")]
        )
        #expect(found.stdout.contains("It is written as \(notation)."), "\(found)")
        // What 'key import' writes is read as the same key.
        let kept = tool.folder.path("kept")
        let database = ["--db-path", tool.database]
        let imported = try tool.run(
            ["key", "import", tool.folder.path("written"), "--output", kept] + database
        )
        #expect(imported.status == 0, "\(imported)")
        let read = try tool.run(["tables", "--password-file", kept] + database)
        #expect(read.status == 0, "\(read)")
    }

    /// Digits of which a program has made another passphrase than the digits that somebody has.
    @Test(arguments: [true, false]) func digitsInTheOtherCaseAreFound(_ isUpper: Bool) throws {
        let tool = try Tool.withoutSecretStore(isRawKey: false)
        let digits = "ab" + ToolFolder.randomDigits(count: 62)
        let key = isUpper ? digits.uppercased() : digits.lowercased()
        _ = try SQLCipherShell.run(tool.database, key: key, "CREATE TABLE t(a);")
        try tool.folder.write("written", (isUpper ? digits.lowercased() : digits.uppercased()).utf8)
        let found = try tool.run(
            ["key", "find", "--db-path", tool.database, "--key-file", tool.folder.path("written")]
        )
        #expect(found.stdout.contains("It is written as digits in the other case."), "\(found)")
    }

    /// What Electron has encrypted is named.
    @Test func keysInSafeStorageAreNamed() throws {
        let tool = try Tool.withoutSecretStore(isRawKey: true)
        _ = try tool.shell("CREATE TABLE t(a);")
        let sealed = "763130" + ToolFolder.randomDigits(count: 96)
        try tool.folder.write("written", #"{"encryptedKey": "\#(sealed)"}"#.utf8)
        let found = try tool.run(
            ["key", "find", "--db-path", tool.database, "--key-file", tool.folder.path("written")]
        )
        #expect(found.status == 69 && found.stderr.contains("safeStorage"), "\(found)")
    }

    /// What this tool has written has one meaning, and a text that opens nothing is no key.
    @Test func nothingIsGuessed() throws {
        let tool = try Tool.withoutSecretStore(isRawKey: true)
        _ = try tool.shell("CREATE TABLE t(a);")
        try tool.folder.write("written", "0x\(ToolFolder.randomDigits(count: 64))".utf8)
        let file = tool.folder.path("written")
        let output = tool.folder.path("kept")
        let refused = try tool.run(
            ["key", "import", file, "--output", output, "--db-path", tool.database]
        )
        #expect(refused.status == 77, "\(refused)")
        // Without a database, nothing proves it.
        let unproved = try tool.run(["key", "import", file, "--output", output])
        #expect(unproved.status == 65 && unproved.stderr.contains("--db-path"), "\(unproved)")
        #expect(try !tool.folder.names.contains("kept"))
    }
}
