import Foundation
import Testing

@testable import MigrationKitKeys

/// Recovery copies of keys.
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
}
