/// A run that a signal has ended.
struct Interruption: Error {
    let signal: Int32

    /// What is so now, for people.
    let state: String
}
