import Foundation

/// Everything in a folder that whoever promises to leave it alone must leave: the names, and of
/// each, the folder's own included, identity, mode, size, time of change and content.
public struct FolderSnapshot: Equatable, Sendable {
    /// What is known of one file, folder or link.
    public struct Entry: Equatable, Sendable {
        let inode: UInt64
        let mode: mode_t
        let size: Int64
        let modified: [Int]
        /// Of a regular file that the test may read; nil of all else.
        public let content: Data?
    }

    /// By the path in the folder; the folder itself is ".".
    public let entries: [String: Entry]

    init(of path: String) throws {
        var entries: [String: Entry] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: path) + ["."] {
            let file = path + "/" + name
            var status = stat()
            guard lstat(file, &status) == 0 else {
                throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
            }
            let isReadable = status.st_mode & S_IFMT == S_IFREG && access(file, R_OK) == 0
            entries[name] = Entry(
                inode: UInt64(status.st_ino),
                mode: status.st_mode,
                size: Int64(status.st_size),
                modified: [status.st_mtim.tv_sec, status.st_mtim.tv_nsec],
                content: isReadable ? try Data(contentsOf: URL(fileURLWithPath: file)) : nil
            )
        }
        self.entries = entries
    }
}

extension TemporaryFolder {
    /// What is in the folder and below it at this moment.
    public func snapshot() throws -> FolderSnapshot {
        try FolderSnapshot(of: path)
    }
}
