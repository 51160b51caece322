import Foundation
import TestSupport
import Testing

/// Many processes migrate one file at the same moment.
@Suite struct ConcurrencyTests {
    private static let stepCount = 40
    private let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        // Nothing in most of the steps hinders them from running twice: the rows would tell.
        try tool.write(
            "0001",
            up: "CREATE TABLE ran (step TEXT);\nINSERT INTO ran VALUES ('0001');"
        )
        for number in 2...Self.stepCount {
            let step = Self.identifier(number)
            let table = number % 4 == 0 ? "CREATE TABLE t\(step) (id INTEGER);\n" : ""
            try tool.write(step, up: "\(table)INSERT INTO ran VALUES ('\(step)');")
        }
    }

    @Test func sixteenProcessesOnANewFileRunEachStepOnce() throws {
        var winners: [Int: Int] = [:]
        for round in 0..<Samples.count(5) {
            let outcome = try race(ours: 16, plain: 0, round: round)
            #expect(outcome.appliedByOurs == Self.stepCount)
            winners[outcome.activeOurs, default: 0] += 1
        }
        report("ours alone: rounds by the number of processes that applied steps: \(winners)")
    }

    @Test func processesOfPlainGRDBInBetweenMakeNoneOfOursFail() throws {
        try raceAgainstPlainGRDB(rounds: Samples.count(8), prepare: {})
    }

    @Test func processesOfPlainGRDBInBetweenMakeNoneOfOursFailInWALMode() throws {
        try raceAgainstPlainGRDB(rounds: Samples.count(3)) {
            _ = try tool.shell("PRAGMA journal_mode = WAL; CREATE TABLE old (id INTEGER);")
        }
    }

    private func raceAgainstPlainGRDB(rounds: Int, prepare: () throws -> Void) throws {
        var (ours, plain, shared, failed) = (0, 0, 0, 0)
        var complaints: [String: Int] = [:]
        for round in 0..<(rounds * 5) {
            // On a busy machine, the processes of few rounds may run one after the other.
            if round >= rounds, shared > 0 { break }
            try prepare()
            let outcome = try race(ours: 8, plain: 8, round: round)
            #expect(outcome.appliedByOurs + outcome.appliedByPlain == Self.stepCount)
            ours += outcome.appliedByOurs
            plain += outcome.appliedByPlain
            failed += outcome.failedPlain
            shared += outcome.appliedByOurs > 0 && outcome.appliedByPlain > 0 ? 1 : 0
            for complaint in outcome.complaints { complaints[complaint, default: 0] += 1 }
        }
        // Otherwise nobody got in between, and nothing was proven.
        #expect(shared > 0)
        report(
            """
            mixed: steps by ours \(ours), by plain GRDB \(plain), rounds shared \(shared); \
            plain GRDB gave up \(failed) times, and complained: \(complaints)
            """
        )
    }

    /// A program on plain GRDB has the file for itself as long as a step of its takes. How long a
    /// connection waits is the lock timeout, which `EmbeddedCommandTests` looks at.
    @Test func longStepOfAnotherProgramIsWaitedFor() throws {
        #expect(try tool.onStore("migrate", "--to", "0001").status == 0)
        let holder = try LockHolder(tool.database, key: "x'\(tool.password)'")
        let refused = try tool.onStore("migrate", "--lock-timeout", "0.2", "--json")
        #expect(refused.status == 75)
        #expect(try refused.jsonError()["code"] as? String == "locked")

        let waiting = try ["migrate", "rollback"].map { command in
            try ChildProcess(
                builtExecutable("migrationkit-cli"),
                [command] + tool.opening + ["--migrations", tool.migrations],
                environment: tool.environment,
                newSession: true
            )
        }
        for process in waiting { try waitUntilOpen(tool.database, in: process) }
        waitUntilAsleep(waiting.map(\.processIdentifier))
        // Neither has given up.
        try holder.release()
        let results = try waiting.map { try $0.finish() }
        #expect(results[0].status == 0, "\(results[0])")
        // There is nothing that takes the migrations back, which is found out under the lock.
        #expect(results[1].status == 65, "\(results[1])")
        #expect(try tool.shell("SELECT count(*) FROM ran;") == "40")
    }

    // MARK: - A Round

    private struct Outcome {
        var appliedByOurs = 0
        var activeOurs = 0
        var appliedByPlain = 0
        var failedPlain = 0
        var complaints: [String] = []
    }

    /// Lets processes loose on one file, and checks what every round must leave.
    private func race(ours: Int, plain: Int, round: Int) throws -> Outcome {
        // Without a salt of its own in the key, the file's first writer chooses it.
        let key = ToolFolder.randomDigits(count: round.isMultiple(of: 2) ? 64 : 96)
        let isNew = !FileManager.default.fileExists(atPath: tool.database)
        let digits = isNew ? key : tool.password
        let processes = try (0..<(ours + plain)).map { number in
            let isOurs = plain == 0 || number.isMultiple(of: 2)
            return (isOurs, try isOurs ? startOurs(number) : startPlain())
        }
        // All are at the same point: they wait for the key.
        waitUntilAsleep(processes.map(\.1.processIdentifier))
        for (_, process) in processes { process.write(digits.utf8) }
        for (_, process) in processes { process.closeInput() }

        var outcome = Outcome()
        for (isOurs, process) in processes {
            let result = try process.finish(within: 100)
            if isOurs {
                #expect(result.status == 0, "round \(round): \(result)")
                #expect(result.stderr.isEmpty, "round \(round): \(result.stderr)")
                let applied = (try? result.json())?["applied"] as? [Any] ?? []
                outcome.appliedByOurs += applied.count
                outcome.activeOurs += applied.isEmpty ? 0 : 1
            } else {
                outcome.appliedByPlain += result.stdout.split(separator: "\n").count
                outcome.failedPlain += result.status == 0 ? 0 : 1
                outcome.complaints += try result.stderr.split(separator: "\n").map(complaint)
            }
        }
        try checkFile(key: digits, round: round)
        return outcome
    }

    /// What plain GRDB has failed with, which may be its own race and nothing else.
    private func complaint(_ line: Substring) throws -> String {
        let races = [
            ("1 table ", " already exists"), ("5 ", "database is locked"),
            ("19 UNIQUE ", ": grdb_migrations.identifier"), ("26 ", "file is not a database"),
        ]
        let race = races.first { line.hasPrefix($0.0) && line.hasSuffix($0.1) }
        let (code, words) = try #require(race, "\(line)")
        return code + "…" + words
    }

    private func checkFile(key: String, round: Int) throws {
        let found = try SQLCipherShell.run(
            tool.database,
            key: "x'\(key)'",
            """
            PRAGMA integrity_check;
            PRAGMA cipher_integrity_check;
            SELECT count(*), count(DISTINCT step), min(step), max(step) FROM ran;
            SELECT count(*), count(DISTINCT identifier) FROM grdb_migrations;
            """
        )
        #expect(found == "ok\n40|40|0001|0040\n40|40", "round \(round)")
        let names = try tool.folder.names
        #expect(names == ["migrations", "password", "store.db"], "round \(round)")
        try FileManager.default.removeItem(atPath: tool.database)
    }

    private func startOurs(_ number: Int) throws -> ChildProcess {
        try ChildProcess(
            builtExecutable("migrationkit-cli"),
            [
                "migrate", "--db-path", tool.database, "--migrations", tool.migrations,
                "--password-file", "-", "--raw-key", "--json",
            ] + (number % 4 < 2 ? [] : ["--all-or-nothing"]),
            environment: tool.environment,
            newSession: true
        )
    }

    private func startPlain() throws -> ChildProcess {
        try ChildProcess(
            builtExecutable("PlainMigratorProbe"),
            [tool.database, tool.migrations, "20"],
            environment: tool.environment,
            newSession: true
        )
    }

    private static func identifier(_ number: Int) -> String {
        String(repeating: "0", count: 4 - "\(number)".count) + "\(number)"
    }
}

/// Waits until a process has a file open.
private func waitUntilOpen(_ path: String, in process: ChildProcess) throws {
    let descriptors = "/proc/\(process.processIdentifier)/fd"
    try wait(for: "the file to be opened", interval: 500) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: descriptors)) ?? []
        return names.contains {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(descriptors)/\($0)"))
                == path
        }
    }
}

/// Waits until each of the processes sleeps, which they do when they want to read a pipe; not for
/// long, since all that depends on it is how much at the same moment they start.
private func waitUntilAsleep(_ processes: [pid_t]) {
    let deadline = ContinuousClock.now + .seconds(5)
    for process in processes {
        while ContinuousClock.now < deadline {
            let state = try? processFields(process).first
            if state == "S" || state == "Z" || state == nil { break }
            usleep(500)
        }
    }
}
