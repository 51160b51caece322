import TestSupport
import Testing

/// SQL that ends a process with some engines: see `EngineFault`.
@Suite struct EngineFaultCommandTests {
    enum Fault: String, CaseIterable {
        /// CVE-2025-29087
        case longSeparator
        /// CVE-2025-6965
        case wideAggregate

        var schema: String {
            switch self {
            case .longSeparator:
                let values = (1...126).map(String.init).joined(separator: ", ")
                return """
                    CREATE TABLE t (a);
                    INSERT INTO t VALUES ('A');
                    CREATE VIEW v AS
                    SELECT concat_ws(printf('%.*c', 34360000, a), \(values)) AS text FROM t;
                    """
            case .wideAggregate:
                let calls: [String] = (0..<18).flatMap { table in
                    stride(from: 0, to: 2000, by: 100).map { first in
                        let columns: [String] = (first..<first + 100).map { "t\(table).c\($0)" }
                        return "coalesce(\(columns.joined(separator: ", ")))"
                    }
                }
                let terms = calls.joined(separator: ", ")
                let tables = (0..<18).map { "t t\($0)" }.joined(separator: ", ")
                return """
                    CREATE TABLE t (\((0..<2000).map { "c\($0)" }.joined(separator: ", ")));
                    CREATE VIEW v AS SELECT \(terms) FROM \(tables) GROUP BY \(terms);
                    """
            }
        }
    }

    private func expectNoCrash(_ result: ProcessResult, _ command: [String]) {
        let documented: Set<Int32> = [0, 1, 2, 3, 64, 65, 73, 74]
        #expect(result.status.map(documented.contains) == true, "\(command): \(result)")
    }

    @Test func aWholeVerificationNamesTheFaultsOfTheEngine() throws {
        let tool = try Tool(isRawKey: true)
        try tool.write(
            "0001_items",
            up: "CREATE TABLE item (id INTEGER);",
            down: "DROP TABLE item;"
        )
        let migrated = try tool.onStore("migrate")
        #expect(migrated.status == 0, "\(migrated)")
        let version = try tool.run(["--version", "--json"]).json()
        let faults = try #require(version["faults"] as? [[String: Any]])
        let result = try tool.onStore("verify", "--full", "--json")
        let names = faults.compactMap { $0["name"] as? String }
        #expect(try result.json()["engineFaults"] as? [String] == names)
        // A note is for who can do something about it.
        let isMended = faults.contains { $0["fixedIn"] != nil }
        let shown = try tool.onStore("verify", "--full")
        #expect(shown.status == 0)
        #expect(shown.stderr.contains("note: the SQLite in this program has faults") == isMended)
        #expect(try tool.onStore("verify", "--json").json()["engineFaults"] == nil)
    }

    @Test(arguments: Fault.allCases)
    func migrationsEndNoCommand(_ fault: Fault) throws {
        let tool = try Tool()
        try tool.write("0001_fault", up: fault.schema, down: "DROP VIEW v; DROP TABLE t;")
        for command in [
            ["lint"], ["schema-dump"], ["schema-diff", "--to", "/dev/null"],
            ["create", "next", "--to", "/dev/null"],
        ] {
            let result = try tool.run(command + ["--migrations", tool.migrations])
            expectNoCrash(result, command)
        }
    }

    @Test(arguments: Fault.allCases)
    func filesEndNoCommand(_ fault: Fault) throws {
        let tool = try Tool(isRawKey: true)
        _ = try tool.shell(fault.schema)
        for command in [
            ["tables"], ["query", "SELECT * FROM v"], ["verify", "--full"], ["inspect"],
            ["schema-dump"], ["backup", "--output", tool.folder.path("backup.db")],
            ["salvage", "--output", tool.folder.path("salvaged.db")],
        ] {
            expectNoCrash(try tool.run([command[0]] + tool.opening + command.dropFirst()), command)
        }
    }
}
