import Foundation
import GRDB
import MigrationKit
import MigrationKitCLI
import MigrationKitGRDB
import Testing

/// A settings file of a program with steps of its own.
@Suite struct EmbeddedSettingsTests {
    let output = Lines()
    let seen = Lines()

    private func run(_ command: String, settings: String) throws {
        let file = FileManager.default.temporaryDirectory
            .appendingPathComponent("\(UUID().uuidString).toml")
        try Data(settings.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let runner = try GRDBMigrationRunner(
            steps: [
                MigrationStep(identifier: "0001_items", sourceFile: "M0001.swift") {
                    try $0.execute(sql: "CREATE TABLE item (id)")
                }
            ],
            // Verifies in the place of the runner's own checks.
            integration: .init(verifyPostMigration: { _ in })
        )
        try MigrationCLI.run(
            arguments: [command, "--config", file.path],
            host: MigrationCLIHost(
                runner: runner,
                openWriter: { [seen] options in
                    seen.append("\(options.dbPath ?? "-") \(options.keychainService ?? "-")")
                    seen.append("\(options.keychainAccount ?? "-") \(options.keychainTimeout)")
                    return try DatabaseQueue()
                }
            ),
            output: output.append
        )
    }

    @Test func hostGetsWhatTheFileSays() throws {
        try run(
            "status",
            settings: """
                db-path = "/tmp/notes.db"
                keychain-service = "svc"
                keychain-account = "acct"
                keychain-timeout = 7
                """
        )
        #expect(seen.text == "/tmp/notes.db svc\nacct 7.0 seconds")
    }

    @Test func requiredIndexIsLookedForBesideWhatTheHostVerifies() throws {
        #expect(throws: GRDBMigrationVerificationError.self) {
            try run("migrate", settings: "require-index = ['item.item_id']")
        }
    }

    @Test func migrationsAreNoSetting() throws {
        let error = #expect(throws: SettingsFileError.self) {
            try run("status", settings: "migrations = 'sql'")
        }
        guard case .unknownKey("migrations", _, nil) = error else {
            Issue.record("another error: \(String(describing: error))")
            return
        }
        #expect(MigrationCLI.exitCode(for: try #require(error)) == 64)
        #expect(seen.text.isEmpty)
    }
}
