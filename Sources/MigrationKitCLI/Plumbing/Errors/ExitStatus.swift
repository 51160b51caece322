import MigrationKitCommon

/// The meanings of the exit codes, for the help and the manual page.
extension ErrorCode.ExitStatus {
    static let meanings: [(code: Int32, meaning: String)] = [
        (0, "done"),
        (1, "a migration failed and was undone"),
        (2, "verification failed"),
        (3, "with --check or --exit-code: something differs or is pending"),
        (64, "wrong usage"),
        (65, "unusable migrations"),
        (66, "no such file or database"),
        (69, "no secret store, or no such key in it"),
        (73, "can't create the output"),
        (74, "input/output error"),
        (75, "database busy"),
        (77, "key or permission refused"),
        (129, "ended by a hangup"),
        (130, "interrupted"),
        (141, "done, but the output was closed"),
        (143, "terminated"),
    ]

    /// All of them in one sentence.
    static var summary: String {
        "Exit codes: " + meanings.map { "\($0.code) \($0.meaning)" }.joined(separator: ", ") + "."
    }
}
