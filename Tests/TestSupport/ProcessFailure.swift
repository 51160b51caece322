/// A program that a test relies on did not do its part.
public struct ProcessFailure: Error, CustomStringConvertible {
    /// The program's name.
    public let program: String
    /// What it left.
    public let result: ProcessResult

    /// The program's name and its own words.
    public var description: String { "\(program): \(result)" }

    /// Answers what a program left, if it ended with 0 and told nothing to standard error.
    static func check(_ program: String, _ result: ProcessResult) throws -> ProcessResult {
        guard result.status == 0, result.errorBytes.isEmpty else {
            throw ProcessFailure(program: program, result: result)
        }
        return result
    }
}
