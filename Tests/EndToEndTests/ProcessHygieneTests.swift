import Foundation
import TestSupport
import Testing

/// The tool, stopped in the middle of a migration: where its passphrase is, and where it isn't.
@Suite struct ProcessHygieneTests {
    /// How the key comes to the tool.
    enum Source: String, CaseIterable {
        case file, standardInput, descriptor, command, argument, argumentWithSign, environment
        case environmentFile, keychain
    }

    /// The tool as it is started with a key from a source, and what has to last as long as it.
    private struct Arrangement {
        var tool: Tool
        var command: [String]
        var arguments: [String] = []
        var secrets: PrivateSecretService?

        init(_ source: Source) throws {
            tool = try Tool()
            command = [try builtExecutable("migrationkit-cli")]
            let file = tool.folder.path("password")
            switch source {
            case .file: arguments = ["--password-file", file]
            case .standardInput:
                command = ["sh", "-c", "exec \"$@\" <'\(file)'", "sh"] + command
                arguments = ["--password-file", "-"]
            case .descriptor:
                command = ["sh", "-c", "exec \"$@\" 7<'\(file)'", "sh"] + command
                arguments = ["--password-fd", "7"]
            case .command: arguments = ["--password-command", "cat '\(file)'"]
            case .argument: arguments = ["--password", tool.password]
            case .argumentWithSign: arguments = ["--password=\(tool.password)"]
            case .environment: tool.environment["MIGRATIONKIT_PASSWORD"] = tool.password
            case .environmentFile: tool.environment["MIGRATIONKIT_PASSWORD_FILE"] = file
            case .keychain:
                let secrets = try PrivateSecretService()
                let words = ["--label=Test", "service", "com.example.Test", "username", "main"]
                let stored = try secrets.run(
                    "secret-tool",
                    ["store"] + words,
                    input: tool.password
                )
                #expect(stored.status == 0, "\(stored)")
                tool.environment = secrets.environment
                arguments = ["--keychain-service", "com.example.Test"]
                self.secrets = secrets
            }
        }

        func start() throws -> RunningMigration {
            try RunningMigration(
                of: tool,
                command: command,
                arguments: arguments
            )
        }
    }

    @Test(arguments: Source.allCases) func passphraseIsNowhereToBeSeen(_ source: Source) throws {
        let arrangement = try Arrangement(source)
        let migration = try arrangement.start()
        let passphrase = Data(arrangement.tool.password.utf8)
        // What the user put there is the user's.
        try FileManager.default.removeItem(atPath: arrangement.tool.folder.path("password"))

        let line = try migration.proc("cmdline")
        #expect(line.range(of: Data("migrate".utf8)) != nil)
        #expect(line.range(of: passphrase) == nil)
        let environment = try migration.proc("environ")
        #expect(environment.range(of: Data("PATH=".utf8)) != nil)
        #expect(environment.range(of: passphrase) == nil)
        #expect(environment.range(of: Data(arrangement.tool.folder.path("password").utf8)) == nil)

        let openFiles = try migration.openFiles()
        #expect(openFiles.contains(arrangement.tool.database))
        #expect(!openFiles.contains { $0.contains("password") })
        for (name, entry) in try arrangement.tool.folder.snapshot().entries {
            #expect(entry.content?.range(of: passphrase) == nil, "\(name)")
        }

        migration.process.send(SIGKILL)
        let result = try migration.process.finish()
        #expect(result.signal == SIGKILL)
        #expect(Data(result.outputBytes + result.errorBytes).range(of: passphrase) == nil)
    }

    /// Only root may look, since the tool is not dumpable.
    @Test(
        .enabled(if: geteuid() == 0),
        arguments: [Source.file, .argument, .environment, .command, .keychain]
    ) func passphraseIsInMemoryThatIsLockedAndLeftOutOfDumpsOrInNone(_ source: Source) throws {
        let arrangement = try Arrangement(source)
        let migration = try arrangement.start()
        let found = try migration.regions(holding: Data(arrangement.tool.password.utf8))
        #expect(found.allSatisfy { $0.isLocked && $0.isLeftOutOfDumps }, "\(found)")
        // The scan finds what is there.
        #expect(try !migration.regions(holding: Data("WITH RECURSIVE number".utf8)).isEmpty)
    }

    /// SQLCipher works with the key, and so versions before 4.7 have two copies of it for reading and
    /// writing, each in bytes and in digits. They lock them on the heap, where the locks of neighbours
    /// can be taken back with theirs. Later ones obscure them. While a page is encrypted, OpenSSL's AES
    /// has one more, as the beginning of its round keys. Whatever else there is must be ours: locked,
    /// and left out of dumps.
    @Test(.enabled(if: geteuid() == 0)) func rawKeyIsInLockedMemoryAndInSQLCiphers() throws {
        let tool = try Tool()
        let key = (0..<32).map { _ in UInt8.random(in: 0...255) }
        let digits = key.map { String(format: "%02x", $0) }.joined()
        try tool.folder.write("password", digits.utf8)
        let migration = try RunningMigration(
            of: tool,
            command: [builtExecutable("migrationkit-cli")],
            arguments: ["--raw-key", "--password-file", tool.folder.path("password")]
        )
        for form in [Data(key), Data(digits.utf8)] {
            let found = try migration.regions(holding: form)
            let isOld = try Tool.hasOldEngine
            #expect(!found.isEmpty || !isOld)
            let others = found.filter { !$0.isLocked || !$0.isLeftOutOfDumps }
            #expect(others.count <= (isOld ? 3 : 1), "\(others)")
        }
    }

    private static let canDump =
        geteuid() == 0 && FileManager.default.isExecutableFile(atPath: "/usr/bin/gcore")

    @Test(.enabled(if: canDump)) func coreByADebuggerHoldsNeitherPassphraseNorStatements() throws {
        let arrangement = try Arrangement(.environment)
        let migration = try arrangement.start()
        let core = arrangement.tool.folder.path("core")
        let result = try TestSupport.run("gcore", ["-o", core, "\(migration.processIdentifier)"])
        #expect(result.status == 0, "\(result)")
        let bytes = try Data(
            contentsOf: URL(fileURLWithPath: "\(core).\(migration.processIdentifier)")
        )
        #expect(bytes.range(of: Data(arrangement.tool.password.utf8)) == nil)
        #expect(bytes.range(of: Data("WITH RECURSIVE number".utf8)) == nil)
    }

    @Test func noCoreIsDumped() throws {
        let migration = try Arrangement(.file).start()
        let limits = String(decoding: try migration.proc("limits"), as: UTF8.self)
        let core = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") }
        #expect(core?.split(separator: " ").contains("unlimited") == false)
        #expect(core?.split(separator: " ").filter { $0 == "0" }.count == 2)
    }

    /// Another process of the same user, without root's rights.
    @Test func sameUserSeesNeitherMemoryNorEnvironment() throws {
        let tool = try Tool()
        // Where the test is root's, somebody else takes both parts.
        let isRoot = geteuid() == 0
        let user =
            isRoot ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : ["env"]
        let executable = try tool.folder.copyOfTool()
        let migration = try RunningMigration(
            of: tool,
            command: user + [executable],
            arguments: ["--password-file", tool.folder.path("password")],
            owner: isRoot ? 65534 : nil
        )
        let other = try ChildProcess(user[0], user.dropFirst() + ["sleep", "60"])
        defer { other.send(SIGKILL) }

        func read(_ name: String, of process: pid_t) throws -> ProcessResult {
            try TestSupport.run(
                user[0],
                user.dropFirst() + ["head", "-c", "1", "/proc/\(process)/\(name)"]
            )
        }
        for name in ["environ", "maps"] {
            // Until it is the user's, `setpriv` is root's.
            var control = try read(name, of: other.processIdentifier)
            for _ in 0..<1000 where control.status != 0 {
                control = try read(name, of: other.processIdentifier)
            }
            #expect(control.status == 0, "\(control)")
            let refused = try read(name, of: migration.processIdentifier)
            #expect(refused.status == 1 && refused.stdout.isEmpty, "\(refused)")
        }
        #expect(try read("mem", of: migration.processIdentifier).status == 1)
    }
}
