import Foundation

/// A new file would have the name of a file that SQLite or this library keeps beside a database. It
/// would be taken for that one, and removed. <https://www.sqlite.org/tempfiles.html>
public struct ReservedNameError: Error, Equatable, Sendable {
    /// The new file's path.
    public let path: String

    /// How the name ends, such as `-journal`.
    public let suffix: String

    /// The suffixes of the files beside a database.
    package static let suffixes =
        NewFiles.journalSuffixes
        + [FileLock.migrationSuffix, FileLock.launchSuffix, sealedKeysSuffix, keyRecordSuffix]

    /// The suffix of the file with the keys that a key store may still lose.
    package static let sealedKeysSuffix = "-sealed-keys"

    /// The suffix of the file that says where a database's key is kept.
    package static let keyRecordSuffix = "-key-record"

    /// Throws this error if a new file can't have the path.
    package static func check(_ path: String) throws(ReservedNameError) {
        let name = URL(fileURLWithPath: path).lastPathComponent
        guard let suffix = suffixes.first(where: { name.hasSuffix($0) && name != $0 }) else {
            return
        }
        throw ReservedNameError(path: path, suffix: suffix)
    }
}

extension ReservedNameError: CodedError {
    /// What went wrong, in one line.
    public var errorDescription: String? {
        "\(path) ends in \(suffix), the name of a file beside another database"
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        "It would be taken for that file and removed. Choose another name."
    }

    /// The error's code for programs, and its exit status.
    public var code: ErrorCode { ErrorCode("reservedName", .cannotCreate) }
}
