import PowerCuts
import TestSupport
import Testing

/// A sample of `Scripts/check-power --failing-calls`: system calls on the database's folder fail, one
/// at a time. The seed is fixed.
@Suite struct FailingCallTests {
    private static func campaign(
        _ name: String,
        in folder: TemporaryFolder
    ) throws -> FailingCampaign {
        let scenario = try #require(Scenario.all.first { $0.name == name })
        let place = try Place.made(at: folder.path("place"))
        try scenario.record(in: place)
        return try FailingCampaign(scenario, in: place, library: FailingLibrary(in: folder.path))
    }

    /// One of each kind of command, in the form that does most to the disk.
    @Test(arguments: [
        "migrate-log", "migrate-sorting", "migrate-backup-wal", "migrate-new", "redo-all-delete",
        "downgrade-wal", "repair-delete",
        "schema-load", "encrypt-keep", "rekey-log", "backup-log", "restore-keep", "salvage-log",
        "launch-pool", "rotate-wal",
    ])
    func failingCallIsAnError(_ name: String) throws {
        let folder = try TemporaryFolder()
        var campaign = try Self.campaign(name, in: folder)
        for call in campaign.failingCalls(seed: 16).prefix(8) { try campaign.run(call) }
        let report = campaign.report
        #expect(report.runCount > report.missedCount)
        #expect(
            report.badCount == 0,
            "\(report.findings.map { "\($0.call) \($0.reason) \($0.output)" })"
        )
    }

    /// What was once answered wrongly.
    @Test(arguments: [
        // A folder whose reading fails is not empty: the next number was 0001 again.
        ("create", ["read:.:1:EIO+", "read:.:1:EIO", "stat:0001_note.sql:1:EIO"]),
        // It was tried for ever; and what can't be opened can't be synchronized.
        (
            "schema-dump",
            ["stat:.schema.sql-writing-*/.schema.sql-writing-*:1:EIO+", "open:.:2:EMFILE"]
        ),
        // "This program doesn't open the database that --db-path names".
        ("schema-load", ["stat:.store.db-writing-*/.store.db-writing-*-shm:4:EIO+"]),
        (
            "migrate-delete",
            [
                // No file in the message.
                "sync:store.db:1:EDQUOT+", "write:store.db:24:ENOSPC+",
                // Exit code 77 for a failing disk.
                "lock:store.db-migration.lock:1:ENOLCK+", "open:store.db-migration.lock:1:EMFILE",
                "stat:.:1:EIO+",
                // Exit code 1, as if it were the step's fault.
                "open:store.db-journal:8:ENOSPC+", "write:store.db-migration.lock:1:short+",
            ]
        ),
        // "Nothing has changed", and the next recovery found the commit.
        ("migrate-all-log", ["sync:store.db-wal:1:EIO+"]),
        // The log of the old file stayed beside the new one.
        ("upgrade-wal", ["unlink:store.db-wal:1:EIO"]),
        // Exit code 1, "attempt to write a readonly database".
        ("rekey-log", ["open:.store.db-converting-*/.store.db-converting-*:2:EDQUOT"]),
        // "The key does not open it", when only the look for the reason couldn't open the file.
        ("rotate-settle", ["open:store.db:4:EMFILE"]),
        // An app got a file whose name, given by a rotation that was killed, wasn't on the disk.
        ("rotate-settle", ["sync:.:1:EIO", "sync:.:1:EIO+", "open:.:1:EIO"]),
    ])
    func failingCallIsAnErrorNow(_ name: String, _ calls: [String]) throws {
        let folder = try TemporaryFolder()
        var campaign = try Self.campaign(name, in: folder)
        for call in calls { try campaign.run(#require(FailingCall(call))) }
        let report = campaign.report
        #expect(report.runCount > report.missedCount)
        #expect(
            report.badCount == 0,
            "\(report.findings.map { "\($0.call) \($0.reason) \($0.output)" })"
        )
    }

    @Test func failingCallIsMadeAgainFromItsName() throws {
        for name in ["sync:store.db:3:EIO", "write:.store.db-converting-*:1:short+"] {
            #expect(FailingCall(name)?.description == name)
        }
        #expect(FailingCall("nonsense") == nil)
    }
}
