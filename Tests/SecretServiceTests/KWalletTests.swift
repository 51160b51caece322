import TestSupport
import Testing

/// What KWallet does in its own way.
@Suite(.enabled(if: PrivateKWallet.isInstalled, "KWallet is not installed"))
struct KWalletTests {
    @Test func whatIsStoredIsOnTheDisk() throws {
        let wallet = try PrivateKWallet()
        for secret in ["one", "two"] {
            let stored = try wallet.bus.probe("replace", "s", "u", input: secret)
            #expect(stored.stdout == "")
            try wallet.crash()
            let entry = try wallet.bus.probe("entry", "s", "u").stdout
            #expect(entry.hasPrefix("passphrase \(secret.hexadecimal)\n"), "\(entry)")
        }
    }

    /// Its Secret Service calls that one locked, until it is asked to unlock it.
    @Test func aWalletThatTheLogInOpenedNeedsNoQuestion() throws {
        let wallet = try PrivateKWallet()
        #expect(try wallet.bus.probe("store", "s", "u", input: "x").status == 0)
        try wallet.crash()
        let entry = try wallet.bus.probe("entry", "s", "u", settings: ["PROBE_NO_PROMPT": "1"])
        #expect(entry.status == 0, "\(entry)")
    }

    /// It fails 1 in 256 exchanges of session keys, in three ways.
    @Test func failedExchangesOfSessionKeysAreNotSeen() throws {
        let wallet = try PrivateKWallet()
        let result = try wallet.bus.probe("rounds", "s", "60")
        #expect(result.stdout == "")
        #expect(result.status == 0)
        #expect(try wallet.bus.probe("items", "s").stdout.split(separator: "\n").count == 1)
    }
}
