import MigrationKitKeys
import TestSupport
import Testing

@Suite struct SecretTests {
    @Test func nothingShowsTheBytes() {
        let secret = Secret(utf8: "correct horse")
        #expect("\(secret)" == "<redacted>")
        #expect(String(reflecting: secret) == "<redacted>")
        #expect(Mirror(reflecting: secret).children.isEmpty)
        var dumped = ""
        dump(secret, to: &dumped)
        dump(KeySource.password(secret), to: &dumped)
        dump(KeyEntry(item: item, secret: secret), to: &dumped)
        #expect(!dumped.contains("horse"))
        #expect(!(secret is any Encodable))
    }

    @Test func equalBytesAreEqual() {
        #expect(Secret(utf8: "abc") == Secret(utf8: "abc"))
        #expect(Secret(utf8: "abc") != Secret(utf8: "abd"))
        #expect(Secret(utf8: "abc") != Secret(utf8: "abcd"))
        #expect(Secret(utf8: "") == Secret(utf8: ""))
    }

    @Test func memoryIsLockedAndLeftOutOfDumpsAndForksAndGoesWithTheSecret() throws {
        let result = try run(builtExecutable("KeyStoreProbe"), ["memory"], environment: [:])
        let lines = result.stdout.split(separator: "\n")
        let flags = try #require(lines.first).split(separator: " ")
        #expect(flags.contains("lo"), "locked")
        #expect(flags.contains("dd"), "not to be dumped")
        #expect(flags.contains("wf"), "wiped in a forked child")
        #expect(lines.dropFirst() == ["6", "unmapped"])
    }

    @Test func onlyTheUsedPartIsKept() {
        let secret = Secret(capacity: 100) { memory in
            for index in memory.indices { memory[index] = 0xAA }
            return 10
        }
        #expect(secret.count == 10)
        secret.withUnsafeBytes { bytes in
            #expect(bytes.allSatisfy { $0 == 0xAA })
            let rest = UnsafeRawBufferPointer(start: bytes.baseAddress.map { $0 + 10 }, count: 90)
            #expect(rest.allSatisfy { $0 == 0 })
        }
    }

    @Test func errorOfTheInitializingClosureComesThrough() {
        struct Failure: Error {}
        #expect(throws: Failure.self) { try Secret(capacity: 8) { _ in throw Failure() } }
    }

    @Test(arguments: [
        ("a\n", "a"), ("a\r\n", "a"), ("a\n\n", "a\n"), ("a\r", "a\r"), ("a", "a"), ("\n", ""),
        ("", ""), ("\na", "\na"),
    ])
    func oneTrailingNewlineIsDropped(before: String, after: String) {
        #expect(Secret(utf8: before).droppingOneTrailingNewline() == Secret(utf8: after))
    }

    @Test func randomSecretsDiffer() throws {
        let (one, other) = (try Secret.random(count: 1000), try Secret.random(count: 1000))
        #expect(one.count == 1000)
        #expect(one != other)
        // The last bytes come from a call of their own.
        let zeros = one.withUnsafeBytes { $0.suffix(232).count { $0 == 0 } }
        #expect(zeros < 100)
    }

    private let item = KeyItem(
        identifier: "1",
        service: "s",
        account: nil,
        label: "",
        collection: "",
        attributes: [:]
    )
}
