import Foundation
import MigrationKitSQL

/// A folder of its own for a test, gone with the last reference to it.
final class TemporaryFolder: Sendable {
    let url: URL

    var path: String { url.path }

    init(_ files: KeyValuePairs<String, String> = [:]) throws {
        url = FileManager.default.temporaryDirectory
            .appendingPathComponent("migrationkit-sql-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        for (name, text) in files {
            try write(Array(text.utf8), to: name)
        }
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    func write(_ bytes: [UInt8], to name: String) throws {
        try Data(bytes).write(to: url.appendingPathComponent(name))
    }

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
