import Foundation
import Testing

/// Waits until something is so, and throws when that never comes: after ten minutes, which is longer
/// than the slowest and busiest machine needs.
///
/// - Parameters:
///   - what: What is waited for, for the error.
///   - interval: How long to wait before asking again, in microseconds.
public func wait(
    for what: String,
    interval: UInt32 = 1000,
    until isSo: () throws -> Bool
) throws {
    let deadline = ContinuousClock.now + .seconds(600)
    while try !isSo() {
        try #require(ContinuousClock.now < deadline, "\(what) takes too long")
        usleep(interval)
    }
}

/// What `/proc/PID/stat` says of a process, from its state on: the third field and all after it.
///
/// The second is its name, which may have spaces and parentheses.
/// <https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html>
public func processFields(_ process: pid_t) throws -> [Substring] {
    let line = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
    return line.split(separator: ")").last?.split(separator: " ") ?? []
}
