import Dispatch
import MigrationKit
import MigrationKitCommon
import MigrationKitSQLCipher

/// A note about a rewritten file: a fact, and its consequence.
struct ConversionNote {
    let headline: String
    let explanation: String
    /// A command that can be pasted into a shell.
    var command: String?

    /// A note that the old file has other names.
    ///
    /// - Returns: `nil` if it has none.
    static func otherNames(_ count: Int) -> ConversionNote? {
        guard count > 0 else { return nil }
        return ConversionNote(
            headline: "the old file still exists under \(count) other "
                + (count == 1 ? "name (a hard link)" : "names (hard links)"),
            explanation:
                "A program that opens one of these names uses the old database. Before replacing a file, 'find -samefile' lists its names."
        )
    }

    /// A note that other users could access the old file, and can't access the new one.
    ///
    /// - Parameter formerMode: The old file's permissions.
    /// - Returns: `nil` if they couldn't, or if there was no old file.
    static func narrowedMode(from formerMode: UInt32?, path: String) -> ConversionNote? {
        // An access control list is kept, and is part of the mode.
        guard let formerMode,
            let mode = try? FileIdentity.of(path)?.permissions,
            formerMode & 0o077 != mode & 0o077
        else { return nil }
        let (old, new) = (formerMode.octalMode, mode.octalMode)
        return ConversionNote(
            headline: "the file's mode changed from \(old) to \(new): only its owner "
                + (mode & 0o077 == 0 ? "has access" : "and its access control list have access"),
            explanation: "To give others access again:",
            command: "chmod \(old) \(path.shellPath)"
        )
    }

    /// In one line, for programs.
    var line: String {
        "\(headline). \(explanation)" + (command.map { " \($0)" } ?? "")
    }
}
