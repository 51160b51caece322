import Foundation
import MigrationKitCommon
import MigrationKitSQL

extension Repository {
    /// Refuses a file that a command reads or writes if it is a link that leads out of the
    /// repository. It may be part of a stranger's change, who could have any file shown or replaced
    /// this way.
    ///
    /// - Parameter path: A file or a folder, as it was named. It need not exist.
    /// - Throws: ``CommandError`` if it is such a link, or reached through one.
    static func refuseLink(_ path: String) throws {
        guard !isLeft(onTheWayTo: path) else { throw CommandError.leavesRepository(path) }
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        guard linkTarget(path) != nil, let repository = Repository(of: folder),
            repository.isLeft(byFile: path)
        else { return }
        throw CommandError.leavesRepository(path)
    }
}

extension CommandError {
    fileprivate static func leavesRepository(_ path: String) -> CommandError {
        CommandError(
            ErrorCode("leavesRepository", .noPermission),
            "\(path) is or passes a link that leads out of the repository, or to a file of another name",
            "Give the path of the file itself. Otherwise a change that is checked could choose any file."
        )
    }
}
