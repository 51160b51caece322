import Foundation
import TestSupport
import Testing

/// Many stores that get other keys while other processes use them, and from other programs.
@Suite struct FleetRekeyTests {
    private let fleet: StoreFleet<Tool>
    private var tool: Tool { fleet.tool }
    private var folder: TemporaryFolder { fleet.folder }

    init() throws {
        fleet = try StoreFleet<Tool>(count: 8)
        for name in ["old", "new"] {
            try folder.write(name, "\(ToolFolder.randomDigits(count: 64))\n".utf8)
        }
    }

    private var stores: [String] {
        ["--stores", folder.path("stores/*.db"), "--name-from", folder.path("stores")]
    }

    private func newMaster(_ name: String) -> [String] {
        ["--new-master-key-file", folder.path(name)]
    }

    private func run(_ command: String, _ options: [String]) throws -> ProcessResult {
        try tool.run(["fleet", command] + options)
    }

    private func files() throws -> [Data] {
        try (0..<8).map { try folder.data("stores/\(StoreFleet<Tool>.name($0)).db") }
    }

    @Test func whatIsWrongIsReportedAndTheOthersGetTheirKeys() throws {
        for name in ["wrong", "noKey", "locked", "empty", "missing"] { try fleet.add(name) }
        for name in (0..<8).map(StoreFleet<Tool>.name) + ["wrong", "locked", "empty", "missing"] {
            try folder.write("stores/\(name).db.new", ToolFolder.randomDigits(count: 64).utf8)
        }
        try folder.write("stores/wrong.db.key", ToolFolder.randomDigits(count: 64).utf8)
        try folder.write("stores/empty.db", "".utf8)
        _ = try SQLCipherShell.run(fleet.path("plain"), key: nil, "CREATE TABLE t (a);")
        let list = try FileManager.default.contentsOfDirectory(atPath: folder.path("stores"))
            .filter { $0.hasSuffix(".db") }
            .map {
                """
                {"path":"\(folder.path("stores/\($0)"))","account":"\($0.dropLast(3))"}

                """
            }
        try folder.write("list", list.joined().utf8)
        unlink(fleet.path("missing"))
        let wrong = try folder.data("stores/wrong.db")
        let holder = try LockHolder(fleet.path("locked"), key: "x'\(tool.password)'")
        let options =
            ["--stores-file", folder.path("list"), "--lock-timeout", "0", "--json"]
            + fleet.besideStores + ["--new-key-file-suffix", ".new", "--new-raw-key"]
        let result = try run("rekey", options + ["--report", folder.path("report")])
        try holder.release()

        #expect(result.status == 1, "\(result)")
        #expect(try result.json()["done"] as? Int == 8 && result.json()["failed"] as? Int == 6)
        let report = try fleet.report("report")
        let codes = ["wrong", "noKey", "locked", "empty", "missing", "plain"].map(report.code)
        #expect(
            codes == ["wrongKey", "noSuchKeyFile", "inUse", "empty", "noSuchFile", "plaintext"]
        )
        let digits = String(decoding: try folder.data("stores/s03.db.new"), as: UTF8.self)
        let row = try SQLCipherShell.run(
            fleet.path("s03"),
            key: "x'\(digits)'",
            "SELECT id FROM item;"
        )
        #expect(row == "1")
        #expect(!result.stdout.contains(digits) && !result.stderr.contains(digits))
        #expect(try folder.data("stores/wrong.db") == wrong)
        // The others keep their keys.
        for name in ["noKey", "locked"] { #expect(try fleet.ledger(name) == "0001_items,0002_row") }

        try folder.write("stores/noKey.db.new", ToolFolder.randomDigits(count: 64).utf8)
        let again = try run("rekey", options + ["--exclude", "[wemp]*"])
        #expect(again.status == 0, "\(again)")
        #expect(try again.json()["done"] as? Int == 10)
    }

    /// A second attempt would find the store done, and say nothing of the program in the old file.
    @Test func programThatHasTheOldFileOpenIsNamed() throws {
        let child = try ChildProcess(
            "strace",
            [
                "-f", "-qq", "-o", folder.path("trace"), "-e", "trace=rename", "-e",
                "inject=rename:delay_enter=1000000", builtExecutable("migrationkit-cli"), "fleet",
                "rekey", "--stores", fleet.path("s00"), "--name-from", folder.path("stores"),
                "--report", folder.path("report"), "--lock-timeout", "1",
            ] + fleet.besideStores + newMaster("new"),
            environment: tool.environment
        )
        try wait(for: "the renaming", interval: 500) {
            (try? folder.data("trace"))?.isEmpty == false
        }
        let descriptor = open(fleet.path("s00"), O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        #expect(try child.finish().status == 1)
        #expect(try fleet.report("report").code("s00") == "oldFileInUse")
        let one = ["--stores", fleet.path("s00"), "--name-from", folder.path("stores")]
        #expect(try run("rekey", one + fleet.besideStores + newMaster("new")).status == 0)
    }

    // MARK: - New Keys

    @Test func keyThatNobodyKeepsIsRefused() throws {
        let before = try files()
        let helper = try folder.write(
            "helper.py",
            """
            import json, secrets, sys
            for line in sys.stdin:
                print(json.dumps({"key": secrets.token_hex(32), "form": "raw"}), flush=True)
            """.utf8
        )
        let result = try run(
            "rekey",
            stores + fleet.besideStores
                + ["--new-key-helper", "/usr/bin/python3 '\(helper)'", "--json"]
        )
        #expect(result.status == 1)
        let causes = try result.json()["causes"] as? [[String: Any]]
        #expect(causes?.map { $0["code"] as? String } == ["keyHelperFailed"], "\(result)")
        #expect(try files() == before)
    }

    /// A power cut must not take back the only file that has a key.
    @Test func keyIsOnTheDiskBeforeItsStoreNeedsIt() throws {
        try folder.makeFolder("keys")
        let key = try folder.write("keys/s00.key", ToolFolder.randomDigits(count: 64).utf8)
        let trace = folder.path("trace")
        func traced() throws -> String {
            let result = try TestSupport.run(
                "strace",
                [
                    "-f", "-qq", "-y", "-o", trace, "-e", "trace=rename,fsync",
                    builtExecutable("migrationkit-cli"), "fleet", "rekey", "--stores",
                    fleet.path("s00"), "--name-from", folder.path("stores"), "--new-raw-key",
                    "--new-keys-dir", folder.path("keys"),
                ] + fleet.besideStores,
                environment: tool.environment,
                newSession: true
            )
            try #require(result.status == 0, "\(result)")
            return try String(contentsOfFile: trace, encoding: .utf8)
        }
        let calls = try traced().split(separator: "\n")
        func index(_ call: String, _ path: String) throws -> Int {
            try #require(
                calls.firstIndex { $0.contains(call) && $0.contains(path) },
                "\(calls.joined(separator: "\n"))"
            )
        }
        let replaced = try index("rename(", "/s00.db\"")
        #expect(try index("fsync(", "<\(key)>") < replaced)
        #expect(try index("fsync(", "<\(folder.path("keys"))>") < replaced)

        // A run that was killed may have renamed the file without synchronizing the folder.
        let later = try traced()
        #expect(later.contains("<\(folder.path("stores"))>"), "\(later)")
    }
}
