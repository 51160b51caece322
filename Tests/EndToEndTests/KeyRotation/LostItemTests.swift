import Foundation
import TestSupport
import Testing

/// A program that answers before it writes loses what it has acknowledged, and no key is lost.
@Suite(.enabled(if: PrivateKeePassXC.isInstalled, "KeePassXC is not installed"))
struct KeePassXCLostItemTests {
    private let keepass: PrivateKeePassXC
    private let database: RotatedDatabase

    init() throws {
        // It saves only when it locks: what comes after this is lost if it is killed.
        keepass = try PrivateKeePassXC()
        database = try RotatedDatabase(in: keepass.bus)
        try keepass.restart()
    }

    private var hasSealedKeys: Bool {
        get throws { try database.tool.folder.names.contains("store.db-sealed-keys") }
    }

    private func expectLost(_ key: String?, sourceLocation: SourceLocation = #_sourceLocation)
        throws
    {
        try keepass.crash()
        #expect(try database.key() == key, sourceLocation: sourceLocation)
    }

    @Test func theOldKeyLeadsToALostOne() throws {
        let result = try database.run("key", "rotate")
        #expect(result.status == 0, "\(result)")
        try database.expectSettled()
        #expect(try hasSealedKeys)
        try expectLost(database.tool.password)

        #expect(try database.status().status == 0)
        try database.expectSettled()
        #expect(try database.key() != database.tool.password)
        // And once more, since this run of the program hasn't written it either.
        #expect(try hasSealedKeys)
        try expectLost(database.tool.password)
        #expect(try database.launch().status == 0)
        try database.expectSettled()

        try keepass.restart()
        #expect(try database.launch().status == 0)
        #expect(try !hasSealedKeys)
        try expectLost(database.key())
        #expect(try database.launch().status == 0)
    }

    @Test func itLeadsThroughSeveralRotations() throws {
        for _ in 1...3 { #expect(try database.run("key", "rotate").status == 0) }
        try expectLost(database.tool.password)
        let result = try database.run("key", "rotate")
        #expect(result.status == 0, "\(result)")
        try database.expectSettled()
        try expectLost(database.tool.password)
        #expect(try database.launch().status == 0)
        try database.expectSettled()
    }

    @Test func sealedKeysAreRemovedOnceTheProgramHasReadTheNewOne() throws {
        #expect(try database.run("key", "rotate").status == 0)
        #expect(try database.launch().status == 0)
        #expect(try hasSealedKeys)
        try keepass.restart()
        #expect(try database.status().status == 0)
        #expect(try database.launch().status == 0)
        #expect(try !hasSealedKeys)
    }

    @Test func theOldKeyIsNotDiscardedWhileItIsNeeded() throws {
        let before = try database.tool.folder.data("store.db")
        let result = try database.run("key", "rotate", more: ["--discard-old-key", "--json"])
        #expect(result.status == 69, "\(result)")
        #expect(try result.jsonError()["code"] as? String == "oldKeyStillNeeded")
        #expect(try database.tool.folder.data("store.db") == before)
        #expect(try database.items(of: RotatedDatabase.pendingService) == [])
        #expect(try !hasSealedKeys)
    }

    /// Nobody but who has the old key gets the new one from it.
    @Test func sealedKeysAreNotReadable() throws {
        #expect(try database.run("key", "rotate").status == 0)
        let key = try #require(try database.key())
        let sealed = try database.tool.folder.data("store.db-sealed-keys")
        let text = String(decoding: sealed, as: UTF8.self)
        let lines = text.split(separator: "\n")
        try #require(lines.count == 2)
        let container = try #require(Data(base64Encoded: String(lines[1])))
        for bytes in [sealed, container] {
            #expect(bytes.range(of: Data(key.utf8)) == nil)
            #expect(bytes.range(of: Data(database.tool.password.utf8)) == nil)
        }
        let path = database.tool.folder.path("store.db-sealed-keys")
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)

        // OpenSSL opens it with the old key, and only with that one.
        try database.tool.folder.write("sealed.p12", container)
        func open(_ password: String) throws -> ProcessResult {
            try TestSupport.run(
                "openssl",
                ["pkcs12", "-in", database.tool.folder.path("sealed.p12"), "-passin", "stdin"],
                input: Array("\(password)\n".utf8)
            )
        }
        let opened = try open(database.tool.password).stdout.filter { !$0.isWhitespace }
            .lowercased()
        #expect(opened.contains(key))
        #expect(try open(key).status != 0)
    }
}

@Suite(.enabled(if: PrivateKWallet.isInstalled, "KWallet is not installed"))
struct KWalletLostItemTests {
    @Test func keysAreWrittenBeforeTheFileHasThem() throws {
        let wallet = try PrivateKWallet()
        let database = try RotatedDatabase(in: wallet.bus)
        try wallet.crash()
        for more in [[], ["--discard-old-key"]] {
            let result = try database.run("key", "rotate", more: more)
            #expect(result.status == 0, "\(result)")
            #expect(try !database.tool.folder.names.contains("store.db-sealed-keys"))
            try wallet.crash()
            #expect(try database.launch().status == 0)
            try database.expectSettled()
        }
    }
}

/// The program that keeps the keys is killed at a random time after a rotation and after a restored
/// backup. With larger samples, the times are spread over ten seconds.
@Suite struct KilledProviderTests {
    private func kill(
        _ bus: PrivateSecretService,
        crashesItself: Bool = false,
        _ crash: () throws -> Void
    ) throws {
        let database = try RotatedDatabase(in: bus)
        // The first key is on the disk.
        Thread.sleep(forTimeInterval: Samples.factor == 1 ? 1 : 10)
        for round in 0..<Samples.count(2) {
            // The one from before the last rotation is restored.
            let backup = database.tool.folder.path("\(round / 4).db")
            if round % 4 == 1 {
                let more = ["--from", backup, "--former-key", "rekey", "--yes"]
                let result = try database.run("restore", more: more)
                #expect(result.status == 0 || result.status == 69 && crashesItself, "\(result)")
            } else {
                if round % 4 == 0 {
                    #expect(try database.run("backup", more: ["--output", backup]).status == 0)
                }
                let result = try database.run("key", "rotate")
                #expect(result.status == 0 || result.status == 69 && crashesItself, "\(result)")
            }
            Thread.sleep(forTimeInterval: .random(in: 0...(Samples.factor == 1 ? 0.1 : 10)))
            try crash()
            let launched = try database.launch()
            #expect(launched.status == 0, "\(round): \(launched)")
            try database.expectSettled()
        }
    }

    /// The same after a first launch, which makes the key, and after an import of a key whose item is
    /// gone.
    ///
    /// - Parameter writesLater: Whether the program writes after it has answered. What is lost before
    ///   that is a first launch's empty store, or an item of which there is a copy. Such a program, KeePassXC
    ///   2.7.4, also crashes itself now and then.
    private func killFirst(
        _ bus: PrivateSecretService,
        writesLater: Bool = false,
        _ crash: () throws -> Void
    ) throws {
        let tool = try Tool(environment: bus.environment)
        let passphrase = ["--recovery-password-file", tool.folder.path("password")]
        for round in 0..<Samples.count(2) {
            let (path, account) = (tool.folder.path("\(round).db"), "account \(round)")
            func launched() throws -> ProcessResult {
                try TestSupport.run(
                    builtExecutable("FirstLaunchProbe"),
                    [path, account],
                    environment: tool.environment
                )
            }
            func launch() throws {
                let result = try launched()
                if writesLater, result.stderr.contains("noService") { throw ProgramCrashed() }
                #expect(result.status == 0, "\(round): \(result)")
            }
            func crashLater() throws {
                Thread.sleep(forTimeInterval: .random(in: 0...(Samples.factor == 1 ? 0.1 : 10)))
                try crash()
            }
            let item = [
                "--keychain-service", RotatedDatabase.service, "--keychain-account", account,
            ]
            let copy = tool.folder.path("\(round).p12")
            func run(_ words: String...) throws {
                let result = try tool.run(["key"] + words + item)
                if writesLater, result.status == 69 { throw ProgramCrashed() }
                #expect(result.status == 0, "\(round): \(result)")
            }
            do {
                try launch()
                try crashLater()
                if try writesLater && launched().status != 0 {
                    print("\(round): the new store is lost")
                    try FileManager.default.removeItem(atPath: path)
                }
                try launch()
                try run("export", "--output", copy, passphrase[0], passphrase[1])
                try run("delete", "--yes")
                try run("import", copy, passphrase[0], passphrase[1])
                try crashLater()
                if try writesLater && launched().status != 0 {
                    print("\(round): the imported item is lost")
                    try run("import", copy, passphrase[0], passphrase[1])
                }
                try launch()
            } catch is ProgramCrashed {
                print("\(round): the program crashed by itself")
                try crash()
            }
        }
    }

    private struct ProgramCrashed: Error {}

    @Test func ofGNOMEKeyring() throws {
        let bus = try PrivateSecretService()
        try kill(bus) { try bus.unlock() }
        try killFirst(bus) { try bus.unlock() }
    }

    @Test(.enabled(if: PrivateKWallet.isInstalled, "KWallet is not installed"))
    func ofKWallet() throws {
        let wallet = try PrivateKWallet()
        try kill(wallet.bus) { try wallet.crash() }
        try killFirst(wallet.bus) { try wallet.crash() }
    }

    @Test(.enabled(if: PrivateKeePassXC.isInstalled, "KeePassXC is not installed"))
    func ofKeePassXC() throws {
        let keepass = try PrivateKeePassXC(savesChanges: true)
        // 2.7.4 does now and then.
        try kill(keepass.bus, crashesItself: true) { try keepass.crash() }
        try killFirst(keepass.bus, writesLater: true) { try keepass.crash() }
    }
}
