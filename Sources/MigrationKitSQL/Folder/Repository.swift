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
    /// Whether it is git's.
    private let isGits: Bool

    /// - Parameter folder: A folder of the repository.
    /// - Returns: `nil` if there is no such folder.
    package init?(of folder: String) {
        guard let real = realPath(folder) else { return nil }
        var place = real[...]
        while true {
            var status = stat()
            if lstat("\(place)/.git", &status) == 0 {
                (top, isGits) = (String(place), true)
                return
            }
            guard let slash = place.lastIndex(of: "/") else { break }
            place = place[..<slash]
        }
        (top, isGits) = (real, false)
    }

    /// Whether a file isn't one that a change can contain: its path leads out of the repository, or it
    /// is a link to a file of another name, such as an ignored `.env` or `backup.sql`.
    package func isLeft(byFile path: String) -> Bool {
        func name(_ path: String) -> String { URL(fileURLWithPath: path).lastPathComponent }
        return isLeft(by: path) || realPath(path).map { name($0) != name(path) } ?? false
    }

    /// Whether any part of a path is a link that leads out of the repository of git's in which it is.
    package static func isLeft(onTheWayTo path: String) -> Bool {
        var place = path.hasPrefix("/") ? "" : "."
        for name in path.split(separator: "/") {
            let folder = place.isEmpty ? "/" : place
            place += "/\(name)"
            var status = stat()
            guard lstat(place, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { continue }
            if let repository = Repository(of: folder), repository.isGits,
                repository.isLeft(by: place)
            {
                return true
            }
        }
        return false
    }

    /// Whether a path leads out of the repository, or to git's own files: these may have passwords,
    /// too. What isn't there yet is where its folder is.
    package func isLeft(by path: String) -> Bool {
        guard let real = realPath(path) else {
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
            return folder != path && isLeft(by: folder)
        }
        guard real == top || real.hasPrefix(top + "/") else { return true }
        return real.dropFirst(top.count).split(separator: "/").contains(".git")
    }
}
