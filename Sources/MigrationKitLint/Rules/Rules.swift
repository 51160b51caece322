/// The rules, in groups: each group is a function that reads the record of a migration.
enum Rules {
    /// Those that run migrations again, before the next one is recorded.
    static let withTrials: [@Sendable (StepRecord, inout FindingList) -> Void] = [
        LostRows.check,
        FailsOnData.check,
        RefusedWrites.check,
        CopiedRows.check,
        FollowedRows.check,
        ReturnedRows.check,
        Repeatability.check,
    ]

    static let all: [@Sendable (StepRecord, inout FindingList) -> Void] = [
        RebuiltRows.check,
        LostObjects.check,
        RebuiltTable.check,
        DanglingReferences.check,
        RenumberedRows.check,
        StaleFullText.check,
        InstalledVersion.check,
        Transactions.check,
        Doubtful.check,
        Secrets.check,
        // The last one, since it leaves out failures that another rule explains.
        FailedChecks.check,
    ]
}
