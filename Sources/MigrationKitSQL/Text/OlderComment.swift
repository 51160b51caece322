import Foundation
import MigrationKit

/// The comment in which a migration's author says what it means for versions of the program that
/// don't know it:
///
/// ```sql
/// -- migrate:older works
/// -- migrate:older breaks the app sorts by the old column
/// ```
///
/// Without it, the runner judges that when it applies the migration.
enum OlderComment {
    static let marker = "migrate:older"

    /// - Parameter outline: The file that applies the migration.
    /// - Returns: `nil` if there is no such comment.
    /// - Throws: ``MigrationFolderError/unreadableOlder(at:)`` if it says neither, if `breaks` has no
    ///   reason, or if there are several.
    static func read(in outline: SQLOutline) throws -> OlderVersions? {
        var found: OlderVersions?
        for range in outline.lineComments {
            let words = outline.file.text(in: range).dropFirst(2)
                .split(maxSplits: 2, whereSeparator: \.isWhitespace)
            guard words.first == marker[...] else { continue }
            let rest = words.count > 2 ? String(words[2]).withoutControlCharacters : ""
            let reason = rest.trimmingCharacters(in: .whitespaces)
            let older: OlderVersions? =
                switch words.dropFirst().first {
                case "works" where reason.isEmpty: .work
                case "breaks" where !reason.isEmpty: .fail(reasons: [reason])
                default: nil
                }
            guard let older, found == nil else {
                throw MigrationFolderError.unreadableOlder(
                    at: outline.file.place(at: range.lowerBound)
                )
            }
            found = older
        }
        return found
    }
}
