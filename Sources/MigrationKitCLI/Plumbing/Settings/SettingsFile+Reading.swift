import Foundation
import MigrationKitCommon

extension SettingsFile {
    /// Larger than any settings file. A device has no end.
    private static let limit = 1 << 16

    /// Reads the file that was named.
    ///
    /// - Parameters:
    ///   - path: Its path, absolute or relative to the working folder. A pipe is read to its end.
    ///   - home: What `~/` stands for in its paths.
    ///   - keys: The known settings.
    /// - Throws: ``SettingsFileError``.
    static func named(_ path: String, home: String?, keys: [SettingsKey]) throws -> SettingsFile {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(errno, path) }
        defer { close(descriptor) }
        return try read(descriptor, path, home: home, keys: keys)
    }

    /// Reads the file of the working folder, if there is one.
    ///
    /// Nobody named it on the command line, so it must belong to the user or to root, and nobody
    /// else may write it, not even the group. Otherwise, in a shared folder, another user could
    /// decide which database is changed.
    ///
    /// - Throws: ``SettingsFileError``.
    static func found(home: String?, keys: [SettingsKey]) throws -> SettingsFile? {
        // Doesn't wait: a pipe with this name isn't a settings file.
        let descriptor = open(defaultName, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            guard errno == ENOENT else { throw failure(errno, defaultName) }
            var link = stat()
            guard lstat(defaultName, &link) != 0 else {
                throw SettingsFileError.danglingLink(path: defaultName)
            }
            return nil
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure(errno, defaultName) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw SettingsFileError.notAFile(path: defaultName)
        }
        guard status.st_uid == geteuid() || status.st_uid == 0,
            status.st_mode & (S_IWGRP | S_IWOTH) == 0
        else { throw SettingsFileError.ofAnother(path: defaultName) }
        return try read(descriptor, defaultName, home: home, keys: keys)
    }

    private static func read(
        _ descriptor: Int32,
        _ path: String,
        home: String?,
        keys: [SettingsKey]
    ) throws -> SettingsFile {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 16384)
        while true {
            let count = Foundation.read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure(errno, path) }
            guard count > 0 else { break }
            bytes += piece[..<count]
            guard bytes.count <= limit else {
                throw SettingsFileError.tooLarge(path: path, limit: limit)
            }
        }
        return try SettingsFile(bytes: bytes, path: path, home: home, keys: keys)
    }

    private static func failure(_ code: Int32, _ path: String) -> SettingsFileError {
        switch code {
        case ENOENT, ENOTDIR: .noSuchFile(path: path)
        case EISDIR: .notAFile(path: path)
        case EACCES, EPERM: .permissionDenied(path: path)
        default: .unreadable(path: path, reason: POSIXError(errno: code).reason)
        }
    }
}
