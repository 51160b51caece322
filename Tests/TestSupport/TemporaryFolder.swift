import Foundation

/// A folder of a test's own, mode 0700, which goes when its last owner does.
public final class TemporaryFolder: Sendable {
    /// The folder's absolute path; short, since sockets live in it.
    public let path: String

    /// Makes the folder under `/tmp`.
    public init() throws {
        var template = Array("/tmp/mk-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
        path = String(cString: made)
    }

    /// Makes the folder with files of these names and texts.
    public convenience init(_ files: KeyValuePairs<String, String>) throws {
        try self.init()
        for (name, text) in files { try write(name, text.utf8) }
    }

    deinit {
        // What a test made unreadable has to be readable to be removed; best effort.
        chmod(path, 0o700)
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The path of `name` in this folder, whether or not it exists.
    public func path(_ name: String) -> String {
        path + "/" + name
    }

    /// Writes a file with exactly the given mode and answers its path.
    @discardableResult
    public func write(_ name: String, _ bytes: some Collection<UInt8>, mode: mode_t = 0o600) throws
        -> String
    {
        let file = path(name)
        try Data(bytes).write(to: URL(fileURLWithPath: file))
        guard chmod(file, mode) == 0 else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
        return file
    }

    /// Makes a folder in this one with exactly the given mode and answers its path.
    @discardableResult
    public func makeFolder(_ name: String, mode: mode_t = 0o700) throws -> String {
        let folder = path(name)
        guard mkdir(folder, mode) == 0, chmod(folder, mode) == 0 else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
        return folder
    }

    /// The content of a file.
    public func data(_ name: String) throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: path(name)))
    }

    /// The permissions of a file or folder; nil if there is none.
    public func mode(_ name: String) -> mode_t? {
        var status = stat()
        return stat(path(name), &status) == 0 ? status.st_mode & 0o7777 : nil
    }

    /// The names of the files that are being made in this folder, each in a hidden folder of its own.
    ///
    /// - Parameter prefix: How the names begin.
    public func drafts(_ prefix: String) throws -> [String] {
        try names.filter { $0.hasPrefix(prefix) }.flatMap { room in
            // It may be gone meanwhile.
            let names = try? FileManager.default.contentsOfDirectory(atPath: path(room))
            return (names ?? []).map { "\(room)/\($0)" }
        }.sorted()
    }

    /// The paths of the files in this folder and in those in it, sorted.
    public var paths: [String] {
        get throws {
            try FileManager.default.subpathsOfDirectory(atPath: path).filter { name in
                var isFolder: ObjCBool = false
                let isThere = FileManager.default.fileExists(
                    atPath: path(name),
                    isDirectory: &isFolder
                )
                return isThere && !isFolder.boolValue
            }.sorted()
        }
    }

    /// The names of what is in this folder, sorted.
    public var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
    }
}
