import Foundation
import TestSupport
import Testing

/// `kill -9` in the middle of a restore of a backup that a former key opens, before one system call after
/// the other.
@Suite struct FormerKeyRestoreKillTests {
    private static let pointCount =
        Samples.count(6)

    @Test func aKeyOpensTheFileAfterEveryKill() throws {
        let database = try RotatedDatabase()
        let backup = database.tool.folder.path("backup.db")
        #expect(try database.run("backup", more: ["--output", backup]).status == 0)
        #expect(try database.run("key", "rotate").status == 0)
        let restore =
            ["restore", "--from", backup, "--yes", "--former-key", "rekey"] + database.opening
        let undisturbed = try KillPoint.all(of: restore, in: database)
        let current = database.tool.folder.path("current.db")
        var (old, new) = (0, 0)
        for index in 0..<Self.pointCount {
            // The database of the rotated key again, and its item.
            if index > 0 {
                try FileManager.default.removeItem(atPath: current)
            }
            if try database.key() == database.tool.password {
                #expect(try database.run("key", "rotate").status == 0)
            }
            let key = try #require(try database.key())
            try FileManager.default.copyItem(atPath: database.tool.database, toPath: current)
            let point = undisturbed.points[
                index.isMultiple(of: 2)
                    ? index * undisturbed.points.count / Self.pointCount
                    : min(max(0, undisturbed.rename - 1 + index), undisturbed.points.count - 1)
            ]
            let result = try point.run(restore, in: database)
            #expect(result.signal == SIGKILL || result.status == 0, "\(result)")
            try database.expectNoTrace()
            let checked = try database.run("key", "check")
            #expect(checked.status == 0, "\(point): \(checked)")
            let opened = try index % 4 < 2 ? database.status() : database.launch()
            #expect(opened.status == 0, "\(point): \(opened)")
            try database.expectSettled()
            let keys = try database.items(of: RotatedDatabase.previousService).map {
                try database.key(service: RotatedDatabase.previousService, username: $0)
            }
            #expect((keys + [try database.key()]).contains(key), "\(point)")
            #expect((keys + [try database.key()]).contains(database.tool.password), "\(point)")
            let isOld =
                try database.tool.folder.data("store.db").prefix(16)
                == database.tool.folder.data("current.db").prefix(16)
            if isOld { old += 1 } else { new += 1 }
        }
        report(
            """
            restore --former-key rekey: \(Self.pointCount) kills among \
            \(undisturbed.points.count) calls; \(old) kept the old file, \(new) have the new one
            """
        )
        #expect(old > 0 && new > 0)
    }
}
