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
        for (range, rest) in outline.comments(marker) {
            let words = rest.split(maxSplits: 1, whereSeparator: \.isWhitespace)
            let text = words.count > 1 ? String(words[1]).withoutControlCharacters : ""
            let reason = text.trimmingCharacters(in: .whitespaces)
            let older: OlderVersions? =
                switch words.first {
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
