import MigrationKitCommon

/// Why a command ends without doing what was asked, or with another exit code than 0: a code for
/// programs, what happened, and what to do about it.
///
/// The errors of a folder of commands are static members in an extension there.
public struct CommandError: CodedError, Equatable, Sendable {
    /// The error's code for programs, and its exit status.
    public let code: ErrorCode

    /// What is wrong, in one line.
    public let errorDescription: String?

    /// What to do about it.
    public let recoverySuggestion: String?

    init(_ code: ErrorCode, _ message: String?, _ advice: String? = nil) {
        self.code = code
        errorDescription = message
        recoverySuggestion = advice
    }
}

/// The errors of several folders of commands.
extension CommandError {
    /// The item is not named.
    ///
    /// - Parameter missing: The missing options.
    static func noItemNamed(missing: [String]) -> CommandError {
        CommandError(
            ErrorCode("noItemNamed", .usage),
            "the key's item is not given: \(missing.joined(separator: " and ")) "
                + (missing.count == 1 ? "is missing" : "are missing"),
            """
            Give it with --keychain-service and --keychain-account, in the environment \
            (MIGRATIONKIT_KEYCHAIN_SERVICE, MIGRATIONKIT_KEYCHAIN_ACCOUNT), or in \
            migrationkit.toml.
            """
        )
    }

    /// The user answered no.
    static let declined = CommandError(
        ErrorCode("declined", .noPermission),
        "nothing was changed",
        "To confirm, answer 'y' or add --yes."
    )

    /// The two inputs of a new passphrase differ.
    static let passphrasesDiffer = CommandError(
        ErrorCode("passphrasesDiffer", .usage),
        "the two passphrases are not the same",
        "Nothing was stored or changed. Try again."
    )

    /// A verification failed.
    ///
    /// - Parameters:
    ///   - failed: The names of the failed checks.
    ///   - hasDamagedPages: Whether pages are damaged.
    static func verificationFailed(
        _ failed: [String],
        hasDamagedPages: Bool = false
    ) -> CommandError {
        var advice = "The report on standard output lists the findings."
        if failed.contains("schema") {
            advice += """

                For 'schema', '\(Program.name) schema-diff' shows both schemas, and '\(Program.name) repair \
                --schema' writes the SQL that brings the database back. --ignore-table leaves a \
                table out.
                """
        }
        if hasDamagedPages { advice += "\n" + Failure.adviceOnDamage }
        return CommandError(
            ErrorCode("verificationFailed", .verificationFailed),
            "verification failed: \(failed.joined(separator: ", "))",
            advice
        )
    }
}
