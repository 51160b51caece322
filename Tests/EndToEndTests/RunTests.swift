import Foundation
import TestSupport
import Testing

/// Runs while another process holds the lock.
@Suite struct RunTests {
    let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.writeItems()
    }

    @Test func lockOfAnotherProcessIsWaitedForAndNamed() throws {
        #expect(try tool.onStore("migrate", "--to", "0001_items").status == 0)
        let holder = try ChildProcess(
            "flock",
            [tool.database + "-migration.lock", "-c", "echo held; read line"]
        )
        #expect(holder.readLine() == "held")
        let refused = try tool.onStore("migrate", "--lock-timeout", "0.2", "--json")
        #expect(refused.status == 75)
        #expect(try refused.jsonError()["code"] as? String == "locked")
        // Nothing to do needs no lock.
        #expect(try tool.onStore("migrate", "--to", "0001_items").status == 0)
        holder.closeInput()
        _ = try holder.finish()
    }

    /// The first line comes after 5 s. A document of JSON isn't mixed with lines.
    @Test(arguments: [[], ["--json"], ["--quiet"]])
    func longWorkInAPipeWritesALineNowAndThen(_ options: [String]) throws {
        #expect(try tool.onStore("migrate", "--to", "0001_items").status == 0)
        let holder = try ChildProcess(
            "flock",
            [tool.database + "-migration.lock", "-c", "echo held; read line"]
        )
        #expect(holder.readLine() == "held")
        let refused = try tool.run(
            ["migrate", "--lock-timeout", "5.5", "--migrations", tool.migrations]
                + tool.opening + options
        )
        #expect(refused.status == 75, "\(refused)")
        let lines = refused.stderr.split(separator: "\n")
        if options.isEmpty {
            #expect(lines.first?.hasPrefix("waiting for another process") == true, "\(refused)")
        } else {
            #expect(!refused.stderr.contains("waiting for"), "\(refused)")
        }
        holder.closeInput()
        _ = try holder.finish()
    }
}
