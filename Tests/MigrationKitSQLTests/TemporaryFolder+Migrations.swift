import MigrationKitSQL
import TestSupport

extension TemporaryFolder {
    /// The files of this folder, taken for migrations.
    func migrations() throws -> MigrationFolder {
        try MigrationFolder(path: path)
    }
}

/// The error with which a folder of such files is refused.
func refusal(of files: KeyValuePairs<String, String>) throws -> MigrationFolderError? {
    let folder = try TemporaryFolder(files)
    do {
        _ = try folder.migrations()
        return nil
    } catch let error as MigrationFolderError {
        return error
    }
}
