import Foundation

/// A folder on disk, from which files are read.
struct SQLFolder {
    let path: String

    /// The names of everything in the folder.
    ///
    /// - Throws: ``MigrationFolderError/noSuchFolder(path:)``,
    ///   ``MigrationFolderError/notAFolder(path:)`` or
    ///   ``MigrationFolderError/unreadable(file:reason:)``.
    func fileNames() throws -> [String] {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
            throw MigrationFolderError.noSuchFolder(path: path)
        }
        guard isFolder.boolValue else {
            throw MigrationFolderError.notAFolder(path: path)
        }
        do {
            return try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            throw MigrationFolderError.unreadable(file: path, reason: Self.reason(of: error))
        }
    }

    /// Reads a file of the folder.
    func read(_ name: String) throws -> SQLFile {
        let url = URL(fileURLWithPath: path, isDirectory: true).appendingPathComponent(name)
        let contents: Data
        do {
            // Reading a pipe would wait for someone who writes to it.
            let values = try url.resolvingSymlinksInPath().resourceValues(
                forKeys: [.isRegularFileKey]
            )
            guard values.isRegularFile == true else {
                throw MigrationFolderError.unreadable(file: name, reason: "it is no regular file")
            }
            contents = try Data(contentsOf: url)
        } catch let error as MigrationFolderError {
            throw error
        } catch {
            throw MigrationFolderError.unreadable(file: name, reason: Self.reason(of: error))
        }
        return try SQLFile(name: name, contents: Array(contents))
    }

    /// The system's words for an error, without Foundation's sentence around them.
    private static func reason(of error: any Error) -> String {
        let underlying =
            (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError ?? error as NSError
        guard underlying.domain == NSPOSIXErrorDomain else { return error.localizedDescription }
        return String(cString: strerror(Int32(underlying.code))).lowercased()
    }
}
