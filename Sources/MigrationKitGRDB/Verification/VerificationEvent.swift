/// What a verification reports while it is running.
public enum VerificationEvent: Equatable, Sendable {
    /// A check begins.
    case checkStarted(name: String)

    /// A check is still running; reported about ten times a second while a statement runs.
    case checkContinues(name: String, seconds: Double)

    /// A check is done.
    case checkFinished(VerificationCheck)
}
