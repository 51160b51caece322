import Foundation

/// What is at a path where a file may be.
///
/// An optional would not do: of a journal that can't be read nobody knows what it holds, and its
/// `nil` would be taken for a journal that isn't there.
package enum Found<Content> {
    /// There is no file.
    case absent
    /// There is a file without content.
    case empty
    /// There is a file with content.
    case content(Content)
    /// There is a file, or there may be one, and the system doesn't give it.
    case unreadable(EncryptedDatabaseError)

    /// The content; `nil` only if there is none.
    ///
    /// - Throws: ``EncryptedDatabaseError/permissionDenied(path:)`` or
    ///   ``EncryptedDatabaseError/inputOutput(path:detail:)`` of what is unreadable.
    package func get() throws(EncryptedDatabaseError) -> Content? {
        switch self {
        case .absent, .empty: nil
        case .content(let content): content
        case .unreadable(let error): throw error
        }
    }
}

extension Found<stat> {
    /// Looks at what is at a path, links followed.
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
    /// What a failing system call means.
    package init(failing operation: String, on path: String, _ code: Int32) {
        switch code {
        // What can't have such a name isn't there.
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
                detail: "\(operation): \(String(cString: strerror(code)).lowercased())"
            )
        }
    }
}
