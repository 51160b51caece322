import Foundation
import Testing

/// Expects a text to be, byte for byte, what a file of the package has.
///
/// To write the files anew after a change that is meant, run the tests with
/// `TESTS_RECORD_SNAPSHOTS=1`, read the difference that git shows, and run them again
/// without. A run that records fails, so that it can't be taken for one that compares.
///
/// - Parameters:
///   - text: The text, without anything that differs from run to run.
///   - path: The file's path in the package, such as
///     `Tests/EndToEndTests/Snapshots/Refusals/empty.txt`.
///   - sourceLocation: Where a failure is reported.
public func expectSnapshot(
    _ text: String,
    at path: String,
    sourceLocation: SourceLocation = #_sourceLocation
) throws {
    let file = URL(fileURLWithPath: PackageFolder.path(path))
    guard ProcessInfo.processInfo.environment["TESTS_RECORD_SNAPSHOTS"] != "1" else {
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        try Data(text.utf8).write(to: file)
        Issue.record("recorded \(path)", sourceLocation: sourceLocation)
        return
    }
    guard let expected = try? Data(contentsOf: file) else {
        Issue.record("there is no snapshot \(path)", sourceLocation: sourceLocation)
        return
    }
    guard expected != Data(text.utf8) else { return }
    Issue.record(
        "\(path) differs:\n\(difference(of: text, from: String(decoding: expected, as: UTF8.self)))",
        sourceLocation: sourceLocation
    )
}

/// The lines that are gone with a `-`, and those that are new with a `+`, each with its number.
private func difference(of text: String, from expected: String) -> String {
    func lines(_ text: String) -> [Substring] {
        text.split(separator: "\n", omittingEmptySubsequences: false)
    }
    return lines(text).difference(from: lines(expected)).map { change in
        switch change {
        case .remove(let offset, let line, _): "- \(offset + 1): \(line)"
        case .insert(let offset, let line, _): "+ \(offset + 1): \(line)"
        }
    }.joined(separator: "\n")
}
