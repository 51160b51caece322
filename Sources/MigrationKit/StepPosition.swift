/// Where a step is in a text that it runs statement by statement. Who runs the step listens; the
/// step, which knows nothing of that, reports.
package enum StepPosition {
    /// Takes the number of the statement that is about to run, from 1 on, and how much of the text
    /// is before it, from 0 to 1. `nil` where nobody listens.
    @TaskLocal package static var report: (@Sendable (_ statement: Int, _ part: Double) -> Void)?
}
