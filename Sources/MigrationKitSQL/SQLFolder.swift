import Foundation

/// A folder on disk, from which files are read.
struct SQLFolder {
    let path: String

    /// The files that belong to migrations: those in the folder, and those in folders in it.
    ///
    /// - Throws: ``MigrationFolderError/noSuchFolder(path:)``,
    ///   ``MigrationFolderError/notAFolder(path:)``,
    ///   ``MigrationFolderError/unreadable(file:reason:)``, or what is wrong with a name.
    func migrationFiles() throws -> [MigrationFileName] {
        try contents().sorted().flatMap { name in
            if let file = try MigrationFileName.read(name) { return [file] }
            guard !name.hasPrefix("."), isFolder(name) else { return [] }
            return try DieselFormat.names(
                inFolder: name,
                contents: try SQLFolder(path: url(of: name).path).contents()
            )
        }
    }

    private func contents() throws -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            switch Self.systemError(in: error)?.code {
            case .ENOENT:
                throw MigrationFolderError.noSuchFolder(path: path)
            case .ENOTDIR:
                throw MigrationFolderError.notAFolder(path: path)
            default:
                throw MigrationFolderError.unreadable(file: path, reason: Self.reason(of: error))
            }
        }
    }

    /// Whether there is something by the name.
    func has(_ name: String) -> Bool {
        FileManager.default.fileExists(atPath: url(of: name).path)
    }

    private func isFolder(_ name: String) -> Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: url(of: name).path, isDirectory: &isFolder)
            && isFolder.boolValue
    }

    private func url(of name: String) -> URL {
        URL(fileURLWithPath: path, isDirectory: true).appendingPathComponent(name)
    }

    /// Reads a file of the folder.
    func read(_ name: String) throws -> SQLFile {
        let url = url(of: name)
        guard !Self.isSpecial(url) else {
            throw MigrationFolderError.unreadable(file: name, reason: "it is no regular file")
        }
        let contents: Data
        do {
            contents = try Data(contentsOf: url)
        } catch  where Self.systemError(in: error)?.code == .ENOENT {
            throw MigrationFolderError.missing(file: name)
        } catch {
            throw MigrationFolderError.unreadable(file: name, reason: Self.reason(of: error))
        }
        return try SQLFile(name: name, contents: Array(contents))
    }

    /// Whether there is a folder, a pipe or the like. Reading a pipe would wait for a writer.
    private static func isSpecial(_ url: URL) -> Bool {
        let target = url.resolvingSymlinksInPath()
        guard FileManager.default.fileExists(atPath: target.path) else { return false }
        return (try? target.resourceValues(forKeys: [.isRegularFileKey]))?.isRegularFile == false
    }

    /// The system's words for an error, without Foundation's sentence around them.
    private static func reason(of error: any Error) -> String {
        guard let systemError = systemError(in: error) else {
            return error.localizedDescription
        }
        return String(cString: strerror(systemError.code.rawValue)).lowercased()
    }

    private static func systemError(in error: any Error) -> POSIXError? {
        (error as? CocoaError)?.underlying as? POSIXError
    }
}
