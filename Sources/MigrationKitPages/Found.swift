import Foundation
import MigrationKitCommon

/// The file at a path, if there is one.
///
/// An optional isn't enough: a journal that can't be read may have content, but `nil` would look as
/// if there were none.
package enum Found<Content> {
    /// There is no file.
    case absent
    /// There is an empty file.
    case empty
    /// There is a file with content.
    case content(Content)
    /// There is or may be a file, but the system can't read it.
    case unreadable(EncryptedDatabaseError)

    /// The content; `nil` only if there is none.
    ///
    /// - Throws: ``EncryptedDatabaseError/permissionDenied(path:)`` or
    ///   ``EncryptedDatabaseError/inputOutput(path:detail:)`` if it is unreadable.
    package func get() throws(EncryptedDatabaseError) -> Content? {
        switch self {
        case .absent, .empty: nil
        case .content(let content): content
        case .unreadable(let error): throw error
        }
    }
}

extension Found<stat> {
    /// Looks at what a path leads to, following links.
    package init(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            self = .init(failing: "stat", on: path, errno)
            return
        }
        self = status.st_size == 0 ? .empty : .content(status)
    }
}

extension Found {
    /// The meaning of a failed system call.
    package init(failing operation: String, on path: String, _ code: Int32) {
        switch code {
        // If such a name is impossible, nothing has it.
        case ENOENT, ENOTDIR, ENAMETOOLONG: self = .absent
        default: self = .unreadable(.unreadable(path, operation, code))
        }
    }
}

extension EncryptedDatabaseError {
    /// The error of a file that can't be read.
    ///
    /// - Parameter operation: The system call that failed.
    package static func unreadable(_ path: String, _ operation: String, _ code: Int32) -> Self {
        switch code {
        case EACCES, EPERM:
            .permissionDenied(path: path)
        default:
            .inputOutput(
                path: path,
                detail: "\(operation): \(systemReason(code))"
            )
        }
    }
}
