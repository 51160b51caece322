/// How a verification goes.
public struct VerificationOptions: Sendable {
    /// Ends the verification from another thread: the running statement is interrupted.
    public var cancellation: MigrationCancellation?

    /// Watches the verification.
    ///
    /// It is called on the thread of the database, also in the middle of a statement, and must not
    /// use the database.
    public var observer: (@Sendable (VerificationEvent) -> Void)?

    /// How much memory the pages may take that are kept to be read again, in bytes.
    ///
    /// Most checks read the whole database several times, and each time an encrypted page has to be
    /// decrypted. Where three quarters of this hold the whole database, that is done once only.
    /// Cache sizes are as they were when the verification is over.
    public var pageCacheLimit: Int

    /// Creates options.
    ///
    /// - Parameters:
    ///   - cancellation: Ends the verification from another thread.
    ///   - observer: Watches the verification.
    ///   - pageCacheLimit: How much memory the pages may take that are kept to be read again, in
    ///     bytes.
    public init(
        cancellation: MigrationCancellation? = nil,
        observer: (@Sendable (VerificationEvent) -> Void)? = nil,
        pageCacheLimit: Int = 64 << 20
    ) {
        self.cancellation = cancellation
        self.observer = observer
        self.pageCacheLimit = pageCacheLimit
    }
}

/// What a verification tells while it goes on.
public enum VerificationEvent: Equatable, Sendable {
    /// A check begins.
    case checkStarted(name: String)

    /// A check goes on; told about ten times a second while a statement runs.
    case checkContinues(name: String, seconds: Double)

    /// A check is done.
    case checkFinished(VerificationCheck)
}
