import Foundation
import MigrationKitCommon

/// The files that a change of a project can contain: those of a git repository or, outside of any,
/// those of a folder.
///
/// The author of a change also chooses where its links lead. A check of the change must not show files
/// that aren't part of it.
package struct Repository: Sendable {
    /// The path of the top, without links.
    private let top: String

    /// - Parameter folder: A folder of the repository.
    /// - Returns: `nil` if there is no such folder.
    package init?(of folder: String) {
        guard let real = realPath(folder) else { return nil }
        var place = real[...]
        while true {
            var status = stat()
            if lstat("\(place)/.git", &status) == 0 { break }
            guard let slash = place.lastIndex(of: "/") else {
                place = real[...]
                break
            }
            place = place[..<slash]
        }
        top = String(place)
    }

    /// Whether a path leads out of the repository, or to git's own files: these may have passwords,
    /// too. A path to nothing doesn't.
    package func isLeft(by path: String) -> Bool {
        guard let real = realPath(path) else { return false }
        guard real == top || real.hasPrefix(top + "/") else { return true }
        return real.dropFirst(top.count).split(separator: "/").contains(".git")
    }
}
