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

    /// libsecret refuses the type of its answer, and waits on.
    @Test func aDismissedQuestionForANewWalletEndsTheWait() throws {
        let wallet = try PrivateKWallet(hasWallet: false)
        let probe = try ChildProcess(
            builtExecutable("SecretServiceProbe"),
            ["store", "s", "u"],
            environment: wallet.bus.environment
        )
        probe.write("x".utf8)
        probe.closeInput()
        func dismiss() throws -> Bool {
            try wallet.bus.run(
                "dbus-send",
                ["--print-reply", "--dest=org.freedesktop.secrets"]
                    + ["/org/freedesktop/secrets/prompt/p0"]
                    + ["org.freedesktop.Secret.Prompt.Dismiss"]
            ).status == 0
        }
        for _ in 0..<4000 where try dismiss() { break }
        #expect(try probe.finish(within: 10).stdout == "noCollection(name: \"default\")\n")
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
