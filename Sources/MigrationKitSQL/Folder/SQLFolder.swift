import MigrationKitCommon
import Foundation

/// A folder on disk, from which files are read.
struct SQLFolder {
    let path: String

    /// The files of migrations: those in the folder, and those in its subfolders.
    ///
    /// - Throws: ``MigrationFolderError/noSuchFolder(path:)``,
    ///   ``MigrationFolderError/notAFolder(path:)``,
    ///   ``MigrationFolderError/unreadable(file:reason:)``, or what is wrong with a name.
    func migrationFiles() throws -> [MigrationFileName] {
        try contents().sorted().flatMap { name in
            if let file = try MigrationFileName.read(name) { return [file] }
            guard !name.hasPrefix("."), try isFolder(name) else { return [] }
            return try MigrationFormat.implementations.flatMap {
                try $0.fileNames(
                    inFolder: name,
                    contents: SQLFolder(path: path(of: name)).contents
                )
            }
        }
    }

    private func contents() throws -> [String] {
        do {
            return try namesInFolder(path)
        } catch {
            switch error.code {
            case .ENOENT:
                throw MigrationFolderError.noSuchFolder(path: path)
            case .ENOTDIR:
                throw MigrationFolderError.notAFolder(path: path)
            default:
                throw MigrationFolderError.unreadable(file: path, reason: error.reason)
            }
        }
    }

    /// Whether something with this name exists.
    func has(_ name: String) -> Bool {
        FileManager.default.fileExists(atPath: path(of: name))
    }

    private func isFolder(_ name: String) throws -> Bool {
        var status = stat()
        guard stat(path(of: name), &status) == 0 else {
            // A link may be dangling.
            if [ENOENT, ENOTDIR, ELOOP].contains(errno) { return false }
            throw MigrationFolderError.unreadable(file: name, reason: POSIXError.last.reason)
        }
        return status.st_mode & S_IFMT == S_IFDIR
    }

    private func path(of name: String) -> String {
        path.hasSuffix("/") ? path + name : "\(path)/\(name)"
    }

    /// Reads a file of the folder.
    func read(_ name: String) throws -> SQLFile {
        let contents: [UInt8]?
        do {
            contents = try FileContents.ofRegularFile(path(of: name))
        } catch let error as POSIXError where error.code == .ENOENT {
            throw MigrationFolderError.missing(file: name)
        } catch let error as POSIXError {
            throw MigrationFolderError.unreadable(file: name, reason: error.reason)
        }
        guard let contents else {
            throw MigrationFolderError.unreadable(file: name, reason: "it is not a regular file")
        }
        return try SQLFile(name: name, contents: contents)
    }
}
