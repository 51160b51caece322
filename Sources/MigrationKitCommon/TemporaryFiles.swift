import Foundation

/// The files that are made in a folder until they have their final names.
///
/// They are named after a file, `.NAME-converting-` and random digits, so that those of a killed run
/// are found. While that file's lock is held, no other process uses any of them.
package struct TemporaryFiles: Sendable {
    /// What SQLite appends to a database's name for the files beside it.
    /// <https://www.sqlite.org/tempfiles.html>
    package static let journalSuffixes = ["-wal", "-shm", "-journal"]

    /// How many hexadecimal digits a file has in its name at most.
    package static let digitCount = UInt64.bitWidth / 4

    /// The folder's absolute path.
    package let folder: String
    private let prefix: String

    /// - Parameters:
    ///   - path: A file in the folder.
    ///   - database: The path of a file whose lock is held, and whose name the files have in theirs.
    package init(beside path: String, for database: String) {
        folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        prefix = Self.prefix(for: database)
    }

    /// How the names of the files begin.
    package static func prefix(for database: String) -> String {
        ".\(URL(fileURLWithPath: database).lastPathComponent)-converting-"
    }

    /// Creates an empty file for its owner alone.
    ///
    /// - Returns: Its path, and 0 or the errno.
    package func make() -> (path: String, code: Int32) {
        let file = "\(folder)/\(prefix)\(Self.randomDigits())"
        let descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return (file, errno) }
        // The umask may have taken bits away that SQLite needs.
        fchmod(descriptor, 0o600)
        close(descriptor)
        return (file, 0)
    }

    /// Removes a file, and what SQLite may have put beside it.
    package func remove(_ file: String) {
        for suffix in [""] + Self.journalSuffixes { unlink(file + suffix) }
    }

    /// Removes the files of runs that were killed, as far as they can be.
    package func removeLeftovers() {
        for name in (try? leftovers()) ?? [] { unlink("\(folder)/\(name)") }
    }

    /// The names of the files of runs that were killed. A folder that may be entered and not listed
    /// shows none.
    ///
    /// - Throws: A `POSIXError` if the disk doesn't give the names.
    package func leftovers() throws(POSIXError) -> [String] {
        let names: [String]
        do {
            names = try namesInFolder(folder)
        } catch {
            guard error.code != .EACCES else { return [] }
            throw error
        }
        return names.filter { name in
            guard name.hasPrefix(prefix) else { return false }
            let rest = name.dropFirst(prefix.count)
            let digits = rest.prefix { $0.isHexDigit }
            return !digits.isEmpty
                && ([""] + Self.journalSuffixes).contains { $0 == rest.dropFirst(digits.count) }
        }
    }

    static func randomDigits() -> String {
        var generator = SystemRandomNumberGenerator()
        return String(UInt64.random(in: .min ... .max, using: &generator), radix: 16)
    }
}
