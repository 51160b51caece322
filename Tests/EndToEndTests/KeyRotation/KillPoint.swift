import Foundation
import TestSupport
import Testing

/// A system call before which a run of the tool is killed: so many of its kind were made before on its
/// thread. There are those that change the disk, and those that speak to the Secret Service.
struct KillPoint {
    let call: String
    let ordinal: Int

    private static let calls = [
        "openat", "pwrite64", "fsync", "ftruncate", "fchmod", "rename", "unlink", "sendmsg",
    ]

    func run(_ command: [String], in database: RotatedDatabase) throws -> ProcessResult {
        let inject = "inject=\(call):signal=SIGKILL:when=\(ordinal)"
        return try database.run(command, under: ["-e", "trace=\(call)", "-e", inject])
    }

    /// The calls of a run that is not disturbed, from the lock on, and which of them replaces.
    static func all(
        of command: [String],
        in database: RotatedDatabase
    ) throws -> (points: [KillPoint], rename: Int) {
        let names = "trace=\(calls.joined(separator: ","))"
        let result = try database.run(command, under: ["-e", names])
        try #require(result.status == 0, "\(result)")
        // 6286  openat(AT_FDCWD, "/tmp/mk-x/store.db-migration.lock", ...
        let lines = try database.trace()
        let lock = try #require(lines.firstIndex { $0.contains("-migration.lock") })
        func thread(_ line: Substring) -> Substring { line.prefix { $0 != " " } }
        func call(_ line: Substring) -> String {
            String(line.drop { $0 != " " }.drop { $0 == " " }.prefix { $0 != "(" })
        }
        let main = thread(lines[lock])
        // One thread speaks to the bus, by far the most of the time.
        let bus = Dictionary(grouping: lines.filter { call($0) == "sendmsg" }, by: thread)
            .max { $0.value.count < $1.value.count }?.key
        var counts: [String: Int] = [:]
        var points: [KillPoint] = []
        var rename: Int?
        for (index, line) in lines.enumerated() {
            let name = call(line)
            guard thread(line) == (name == "sendmsg" ? bus : main), calls.contains(name) else {
                continue
            }
            counts[name, default: 0] += 1
            guard index >= lock else { continue }
            if name == "rename" { rename = points.count }
            points.append(KillPoint(call: name, ordinal: counts[name] ?? 0))
        }
        return (points, try #require(rename))
    }
}
