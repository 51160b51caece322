import Foundation

/// Tells what a campaign has found, in the log of the tests.
func report(_ text: String) {
    FileHandle.standardError.write(Data("· \(text)\n".utf8))
}
