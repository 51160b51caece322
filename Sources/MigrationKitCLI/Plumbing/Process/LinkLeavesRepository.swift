import Foundation
import MigrationKitCommon
import MigrationKitSQL

/// A file that a command reads or writes is a link that leads out of the repository. It may be part
/// of a stranger's change, who could have any file shown or replaced this way.
struct LinkLeavesRepository: CodedError, Equatable {
    let path: String

    /// - Parameter path: A file or a folder, as it was named. It need not exist.
    /// - Throws: ``LinkLeavesRepository`` if it is such a link, or reached through one.
    static func check(_ path: String) throws {
        guard !Repository.isLeft(onTheWayTo: path) else { throw LinkLeavesRepository(path: path) }
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        guard linkTarget(path) != nil, let repository = Repository(of: folder),
            repository.isLeft(byFile: path)
        else { return }
        throw LinkLeavesRepository(path: path)
    }

    var errorDescription: String? {
        "\(path) is or passes a link that leads out of the repository, or to a file of another name"
    }

    var recoverySuggestion: String? {
        "Give the path of the file itself. Otherwise a change that is checked could choose any file."
    }

    var code: ErrorCode { ErrorCode("leavesRepository", .noPermission) }
}
