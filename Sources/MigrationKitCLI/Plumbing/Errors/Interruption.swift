/// A signal has ended a run.
struct Interruption: Error {
    let signal: Int32

    /// The resulting state, as text.
    let state: String
}
