import Foundation
import Testing

/// The programs that only `Scripts/bootstrap --tests` installs, and the daemons among them.
public enum OtherProgram {
    /// `make check` sets this variable.
    private static let isLeftOut =
        ProcessInfo.processInfo.environment["SKIP_OTHER_PROGRAMS"] == "1"

    /// Ends the current test as skipped if `make check` runs it. Everything in `TestSupport` that
    /// starts such a program calls this first.
    ///
    /// - Parameter name: The program.
    public static func require(_ name: String) throws {
        if isLeftOut { try Test.cancel("needs \(name), which 'make check' does without") }
    }
}
