import MigrationKitGRDB

/// The rules of the group "Something else is lost".
enum LostObjects {
    static func check(_ step: StepRecord, _ findings: inout FindingList) {
        for rebuild in step.rebuilds { losesIndexes(rebuild, step, &findings) }
    }

    private static func losesIndexes(
        _ rebuild: Rebuild,
        _ step: StepRecord,
        _ findings: inout FindingList
    ) {
        for index in step.before.indexes(of: rebuild.table)
        where step.after.index(index.name) == nil {
            findings.add(
                .rebuildLosesIndex,
                at: rebuild.end,
                "The rebuild of '\(rebuild.table)' loses the index '\(index.name)'"
            )
        }
    }
}
