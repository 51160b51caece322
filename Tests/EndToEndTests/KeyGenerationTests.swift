import Foundation
import TestSupport
import Testing

/// An app that is started twice makes its key once, whichever program keeps it.
@Suite struct KeyGenerationTests {
    enum Provider: CaseIterable, CustomTestStringConvertible {
        case gnomeKeyring, kWallet, keePassXC

        var testDescription: String { "\(self)" }
    }

    @Test(arguments: Provider.allCases, [2, 3, 4])
    func ofSeveralAtOnceOneSucceeds(_ provider: Provider, _ count: Int) throws {
        let (bus, keeper) = try start(provider)
        defer { withExtendedLifetime(keeper) {} }
        var tool = try Tool(environment: bus.environment)
        tool.environment["HOME"] = bus.environment["HOME"]
        for round in 0..<Samples.count(2) {
            let item = ["--keychain-service", "s\(round)", "--keychain-account", "a"]
            let processes = try (0..<count).map { _ in
                try ChildProcess(
                    builtExecutable("migrationkit-cli"),
                    ["key", "generate", "--no-prompt"] + item,
                    environment: tool.environment
                )
            }
            let results = try processes.map { try $0.finish() }
            #expect(results.count { $0.status == 0 } == 1, "\(results)")
            #expect(results.allSatisfy { [0, 73].contains($0.status) }, "\(results)")
            let found = try tool.run(["key", "list", "--json"] + item.prefix(2))
            let items = try #require(try found.json()["items"] as? [[String: Any]], "\(found)")
            #expect(items.count == 1, "\(found)")
        }
        #expect(try tool.run(["key", "doctor"]).status == 0)
    }

    private func start(_ provider: Provider) throws -> (PrivateSecretService, Any?) {
        switch provider {
        case .gnomeKeyring: return (try PrivateSecretService(), nil)
        case .kWallet:
            guard PrivateKWallet.isInstalled else { try Test.cancel("KWallet is not installed") }
            let wallet = try PrivateKWallet()
            return (wallet.bus, wallet)
        case .keePassXC:
            guard PrivateKeePassXC.isInstalled else {
                try Test.cancel("KeePassXC is not installed")
            }
            let keepass = try PrivateKeePassXC()
            return (keepass.bus, keepass)
        }
    }
}
