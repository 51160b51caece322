import Foundation
import TestSupport
import Testing

/// A small sample of `Scripts/check-shared-folder`: two users, of whom one writes files where the other may
/// rename them.
@Suite(.enabled(if: geteuid() == 0, "needs root, to be two users"))
struct SharedFolderTests {
    @Test(arguments: [
        "decrypt", "salvage-clear", "backup", "schema-load", "migrate-clear",
        "migrate-backup-clear",
        "rehearse",
    ])
    func theOtherUserReadsNothingAndLeadsNothingElsewhere(_ command: String) throws {
        let result = try run(
            PackageFolder.path("Scripts/check-shared-folder"),
            [
                "--races", "\(Samples.count(3))", "--seed", "\(SeededGenerator.seed)",
                "--tool", builtExecutable("migrationkit-cli"), command,
            ],
            within: 600
        )
        #expect(result.status == 0, "\(result)")
    }
}
