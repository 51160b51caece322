import Foundation
import TestSupport
import Testing

/// `kill -9` in the middle of a rotation, before one system call after the other: those that change
/// the disk, and those that speak to the Secret Service.
@Suite struct KeyRotationKillTests {
    /// For both kinds together.
    private static let pointCount =
        Samples.count(12)

    @Test(arguments: ["DELETE", "WAL"])
    func storeOpensAfterEveryKill(_ journalMode: String) throws {
        let database = try RotatedDatabase(journalMode)
        let (calls, rename) = try KillPoint.all(of: database.rotation, in: database)
        // Evenly, and a third of them around the replacement.
        let count = Self.pointCount / 2
        let close = count / 3
        let points =
            (0..<(count - close)).map { $0 * calls.count / (count - close) }
            + (0..<close).map { min(max(0, rename - close / 2 + $0), calls.count - 1) }
        var (undone, finished, pending, unharmed) = (0, 0, 0, 0)
        for (index, point) in points.enumerated() {
            let key = try database.key()
            let point = calls[point]
            let result = try point.run(database.rotation, in: database)
            #expect(result.signal == SIGKILL || result.status == 0, "\(result)")
            unharmed += result.signal == SIGKILL ? 0 : 1
            try database.expectNoTrace()
            let isPending = try !database.items(of: RotatedDatabase.pendingService).isEmpty
            pending += isPending ? 1 : 0

            // As it is, and then with the recovery: by the tool or by an app.
            let checked = try database.run("key", "check")
            #expect(checked.status == 0, "\(point): \(checked)")
            for opens in index % 2 == 0
                ? [database.status, database.launch] : [database.launch, database.status]
            {
                let opened = try opens()
                #expect(opened.status == 0, "\(point): \(opened)")
                #expect(try database.temporaryNames == [] || !isPending, "\(point)")
            }
            try database.expectSettled()
            if try database.key() == key { undone += 1 } else { finished += 1 }
            // A keyring gets slower with every item that it holds.
            _ = try database.secrets.run(
                "secret-tool",
                ["clear", "service", RotatedDatabase.previousService]
            )
        }
        report(
            """
            key rotate, \(journalMode): \(points.count) kills among \(calls.count) calls; \
            \(pending) left a pending key; \(undone) were undone, \(finished) finished, \
            \(unharmed) came too late
            """
        )
        #expect(undone > 0 && finished > 0)
    }
}
