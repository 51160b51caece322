import Foundation
import TestSupport
import Testing

/// A fleet in an array of tasks of a real scheduler.
@Suite struct SlurmTests {
    private static let storeCount = 2000
    private static let taskCount = 8

    @Test(.enabled(if: PrivateSlurm.obstacle == nil, "\(PrivateSlurm.obstacle ?? "")"))
    func arrayMigratesEveryStoreOnceAlsoIfATaskIsKilled() throws {
        let fleet = try StoreFleet<Tool>(count: 0)
        let folder = fleet.folder
        for number in 0..<Self.storeCount {
            try FileManager.default.copyItem(
                atPath: fleet.tool.database,
                toPath: fleet.path(StoreFleet<Tool>.name(number))
            )
            // All have the same key.
            let key = fleet.path(StoreFleet<Tool>.name(number)) + ".key"
            try #require(link(folder.path("password"), key) == 0)
        }
        try folder.makeFolder("reports")
        let words = fleet.arguments(
            "migrate",
            fleet.all + ["--lock-timeout", "600", "--jobs", "1", "--report"]
        )
        let quoted = try ([builtExecutable("migrationkit-cli")] + words.dropLast(2))
            .map { "'\($0)'" }.joined(separator: " ")
        try folder.write(
            "task.sh",
            """
            #!/bin/sh
            cd '\(folder.path("reports"))' || exit
            echo $$ > "pid-$SLURM_ARRAY_TASK_ID"
            exec \(quoted) "$SLURM_ARRAY_TASK_ID.jsonl" --migrations '\(fleet.tool.migrations)'

            """.utf8,
            mode: 0o700
        )

        // One task waits for a store that is locked, and is killed there.
        let holder = try LockHolder(fleet.path("s777"), key: "x'\(fleet.tool.password)'")
        let slurm = try PrivateSlurm(processors: 4)
        let job = try slurm.run(
            "sbatch",
            "--parsable",
            "--requeue",
            "--array=0-\(Self.taskCount - 1)",
            "--output=\(folder.path("reports"))/%a.log",
            folder.path("task.sh")
        )
        try wait(for: "the other tasks", interval: 20_000) {
            try slurm.run("squeue", "--noheader", "--array").split(separator: "\n").count == 1
        }
        let waiting = try slurm.run("squeue", "--noheader", "--array", "--format=%K")
        #expect(try merged(fleet).status == 1)
        let text = String(decoding: try folder.data("reports/pid-\(waiting)"), as: UTF8.self)
        kill(try #require(pid_t(text.dropLast())), SIGKILL)
        try wait(for: "the killed task", interval: 20_000) {
            try slurm.run("squeue", "--noheader", "--array").isEmpty
        }
        #expect(try merged(fleet).json()["done"] as? Int ?? 0 < Self.storeCount)
        try holder.release()

        // By itself, a requeued task waits for two minutes. At once, its node would refuse it, as one
        // that was killed.
        try slurm.run("scontrol", "requeue", "\(job)_\(waiting)")
        try slurm.run("scontrol", "update", "JobId=\(job)_\(waiting)", "StartTime=now+2")
        try wait(for: "the requeued task", interval: 20_000) {
            try slurm.run("squeue", "--noheader", "--array").isEmpty
        }

        let report = try merged(fleet)
        #expect(report.status == 0, "\(report)")
        #expect(try report.json()["done"] as? Int == Self.storeCount)
        #expect((try report.json()["versions"] as? [Any])?.count == 1)
        // Each store was migrated by one task, once.
        var applied: [String: Int] = [:]
        for task in 0..<Self.taskCount {
            let lines = String(decoding: try folder.data("reports/\(task).jsonl"), as: UTF8.self)
            for line in lines.split(separator: "\n") where line.contains("\"applied\":1,") {
                let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
                applied[(object as? [String: Any])?["store"] as? String ?? "", default: 0] += 1
            }
        }
        // The one that the killed task was at may have been migrated and not reported as such.
        #expect(applied.count >= Self.storeCount - 1 && applied.values.allSatisfy { $0 == 1 })
        #expect(try fleet.ledger("s777") == "0001_items,0002_row,0003_tags")
    }

    @Test(.enabled(if: PrivateSlurm.obstacle == nil, "\(PrivateSlurm.obstacle ?? "")"))
    func documentedScriptsMigrateAFleet() throws {
        let tool = try Tool(isRawKey: true)
        let folder = tool.folder
        try tool.writeItems()
        for name in ["tenants", "tenants/eu"] { try folder.makeFolder(name) }
        try folder.write("master.key", ToolFolder.randomDigits(count: 64).utf8)
        let names = (0..<6).map { "eu/\($0)" }
        for name in names {
            let master = ["--master-key-file", folder.path("master.key")]
            let key = try tool.run(["key", "derive"] + master + [name, "--force"]).stdout
            try folder.write("key", key.utf8)
            let made = try tool.run(
                [
                    "migrate", "--db-path", folder.path("tenants/\(name).db"), "--password-file",
                    folder.path("key"), "--raw-key", "--migrations", tool.migrations,
                    "--steps", "2",
                ]
            )
            #expect(made.status == 0, "\(made)")
        }
        try folder.write("canaries", "tenants/eu/0.db\ntenants/eu/1.db\n".utf8)

        let root = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let page = try String(
            contentsOf: root.appending(path: "Documentation/Fleets.md"),
            encoding: .utf8
        )
        for name in ["canary.sh", "fleet.sh"] {
            let script = try #require(
                page.components(separatedBy: "```sh\n").first {
                    $0.hasPrefix("#!/bin/sh\n# \(name)\n")
                }?.components(separatedBy: "```").first
            )
            // In an array, each task would have canaries of its own.
            #expect(!script.contains("--canary"))
            let local = script.replacing("/srv/fleet", with: "'\(folder.path(""))'")
                .replacing("/etc/fleet/master.key", with: "'\(folder.path("master.key"))'")
                .replacing(
                    "exec migrationkit-cli",
                    with: try "exec '\(builtExecutable("migrationkit-cli"))'"
                )
                .replacing("--output=", with: "--output=\(folder.path(""))/")
            try folder.write(name, local.utf8)
        }
        let slurm = try PrivateSlurm(processors: 4)
        let canary = try slurm.run("sbatch", "--parsable", folder.path("canary.sh"))
        try slurm.run(
            "sbatch",
            "--kill-on-invalid-dep=yes",
            "--dependency=afterok:\(canary)",
            folder.path("fleet.sh")
        )
        try wait(for: "all tasks", interval: 20_000) {
            try slurm.run("squeue", "--noheader", "--array").isEmpty
        }
        let reports = try FileManager.default.contentsOfDirectory(atPath: folder.path("reports"))
            .map { folder.path("reports/\($0)") }
        let log = String(decoding: (try? folder.data("canary.log")) ?? Data(), as: UTF8.self)
        #expect(reports.count > 1, "\(log)")
        let merged = try tool.run(["fleet", "report", "--json"] + reports)
        #expect(merged.status == 0, "\(merged)")
        #expect(try merged.json()["done"] as? Int == names.count)
        #expect(try merged.json()["applied"] as? Int == names.count)
    }

    private func merged(_ fleet: StoreFleet<Tool>) throws -> ProcessResult {
        let reports = (0..<Self.taskCount).map { fleet.folder.path("reports/\($0).jsonl") }
        return try fleet.tool.run(["fleet", "report", "--json"] + reports)
    }
}
