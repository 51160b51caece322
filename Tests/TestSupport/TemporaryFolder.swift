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

    deinit {
        // What a test made unreadable has to be readable to be removed; best effort.
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
}
