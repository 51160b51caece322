import MigrationKitKeys
import Testing

@Suite struct InMemoryKeyStoreTests {
    private let store = InMemoryKeyStore()

    @Test func storedKeyComesBackInItsForm() throws {
        let (raw, passphrase) = (
            try DatabaseKey.generate(), try DatabaseKey.passphrase(Secret(utf8: "two "))
        )
        try store.store(raw, service: "s", account: "raw")
        try store.store(passphrase, service: "s", account: "passphrase")
        let resolver = KeyResolver { store }
        for (account, key) in [("raw", raw), ("passphrase", passphrase)] {
            let source = KeySource.keyStore(service: "s", account: account)
            #expect(try resolver.key(from: source, form: .passphrase) == key)
            #expect(try store.key(service: "s", account: account) == key)
        }
    }

    @Test func itemsOfOthersAreOfTheFormThatTheCallerSays() throws {
        let digits = String(repeating: "0a", count: 32)
        store.add(Secret(utf8: digits + "\n"), service: "s", account: "u")
        let source = KeySource.keyStore(service: "s", account: "u")
        let resolver = KeyResolver { store }
        #expect(try resolver.key(from: source, form: .rawKey).secret.count == 32)
        #expect(try resolver.key(from: source, form: .passphrase).secret == Secret(utf8: digits))
    }

    @Test func aFormThatIsNotKnownIsNotGuessed() throws {
        let item = KeyItem(
            identifier: "1",
            service: "org.example.Notes",
            account: "main",
            label: "Notes",
            collection: "Login",
            attributes: ["migrationkit:form": "wrapped"]
        )
        let entry = KeyEntry(item: item, secret: Secret(utf8: "secret"))
        #expect(throws: DatabaseKeyError.unknownForm("wrapped")) { try entry.key() }
        #expect(throws: KeySourceError.self) {
            let source = KeySource.keyStore(service: "org.example.Notes", account: "main")
            _ = try KeyResolver.key(of: entry, named: source, form: .passphrase)
        }
    }

    @Test func replacingHasToBeAllowed() throws {
        let (first, second) = (try DatabaseKey.generate(), try DatabaseKey.generate())
        try store.store(first, service: "s", account: "u")
        #expect(throws: KeyStoreError.itemExists(service: "s", account: "u")) {
            try store.store(second, service: "s", account: "u")
        }
        #expect(try store.key(service: "s", account: "u") == first)
        try store.store(second, service: "s", account: "u", label: "L", replacing: true)
        #expect(try store.key(service: "s", account: "u") == second)
        #expect(try store.items(service: "s", account: nil).map(\.label) == ["L"])
    }

    @Test func severalMatchesAreAmbiguous() throws {
        try store.store(.generate(), service: "s", account: "a")
        try store.store(.generate(), service: "s", account: "b")
        for operation in [
            { _ = try store.entry(service: "s", account: nil) },
            { _ = try store.delete(service: "s", account: nil) },
        ] {
            #expect {
                try operation()
            } throws: { error in
                if case KeyStoreError.ambiguous("s", let matches) = error {
                    matches.count == 2
                } else {
                    false
                }
            }
        }
        #expect(try store.delete(service: "s", account: "a").account == "a")
        #expect(throws: KeyStoreError.itemNotFound(service: "s", account: "a")) {
            try store.entry(service: "s", account: "a")
        }
    }

    @Test(arguments: [
        ("two\nlines", PassphraseFlaw.lineBreak), ("a\rb", .lineBreak), ("a\tb", .controlCharacter),
        ("a\0", .controlCharacter), ("a\\b", .backslash), (" a", .leadingSpace),
    ])
    func passphrasesThatADesktopsStoreCanNotKeepAreRefused(
        _ text: String,
        _ flaw: PassphraseFlaw
    ) throws {
        let key = try DatabaseKey.passphrase(Secret(utf8: text))
        #expect(key.storageFlaw == flaw)
        #expect(throws: KeyStoreError.unstorablePassphrase(flaw)) {
            try store.store(key, service: "s", account: "u")
        }
        #expect(try store.items(service: "s", account: nil).isEmpty)
        // Whatever bytes a raw key has, its digits are stored.
        let bytes = Secret(utf8: (text + String(repeating: "\n", count: 32)).prefix(32).description)
        try store.store(.rawKey(bytes: bytes), service: "s", account: "u")
    }

    @Test func lockedStoreIsNotAnEmptyOne() throws {
        store.fail(with: .locked(collection: "login"))
        #expect(throws: KeyStoreError.locked(collection: "login")) {
            try store.items(service: nil, account: nil)
        }
        store.fail(with: nil)
        #expect(try store.items(service: nil, account: nil).isEmpty)
    }

    @Test func keyStoreIsMadeOnlyWhenItIsNamed() throws {
        let resolver = KeyResolver { throw KeyStoreError.noBus }
        #expect(try resolver.secret(from: .password(Secret(utf8: "p"))) == Secret(utf8: "p"))
        #expect(throws: KeyStoreError.noBus) {
            try resolver.secret(from: .keyStore(service: "s", account: nil))
        }
    }

    @Test func keyOfTheWrongFormIsSaidWithItsSource() {
        let resolver = KeyResolver { store }
        let expected = KeySourceError.unusableKey(
            source: "--password",
            reason: .notHexadecimal(count: 5)
        )
        #expect(throws: expected) {
            try resolver.key(from: .password(Secret(utf8: "horse")), form: .rawKey)
        }
    }

    @Test func everyErrorIsOneLineWithAWayOut() {
        let errors: [KeyStoreError] =
            [
                .noBus, .noService, .noCollection(name: "default"), .noCollection(name: "x"),
                .locked(collection: "login"), .promptDismissed(collection: "login"),
                .itemNotFound(service: "it's", account: nil),
                .ambiguous(service: "s", matches: ["one", "two"]), .timedOut(seconds: 30),
                .itemExists(service: "s", account: "u"),
            ] + PassphraseFlaw.allCases.map(KeyStoreError.unstorablePassphrase)
        for error in errors {
            #expect(error.errorDescription?.contains("\n") == false)
            #expect(error.recoverySuggestion?.isEmpty == false)
        }
        #expect(Set(errors.map(\.errorDescription)).count == errors.count)
        #expect(
            KeyStoreError.itemNotFound(service: "it's", account: "u").recoverySuggestion?
                .contains("secret-tool store --label='it'\\''s' service 'it'\\''s' username u")
                == true
        )
    }
}
