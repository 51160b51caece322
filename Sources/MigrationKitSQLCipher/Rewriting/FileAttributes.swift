import CSQLCipher
import Foundation
import Glibc
import MigrationKitCommon

/// The extended attributes of a file, its access control list among them.
///
/// Those of the system are left out: labels and checksums (`security.`) are made for each file, and
/// `trusted.` belongs to file systems. <https://man7.org/linux/man-pages/man7/xattr.7.html>
struct FileAttributes {
    private var values: [String: [UInt8]] = [:]

    /// - Parameter path: The file, which isn't opened.
    /// - Throws: ``NewFileError`` if they can't be read.
    init(of path: String) throws(NewFileError) {
        for name in try Self.names(path)
        where !name.hasPrefix("security.") && !name.hasPrefix("trusted.") {
            values[name] = try Self.read(path) { getxattr(path, name, $0, $1) }
        }
    }

    /// The same without the access that the list gives to the file's group and to everybody else, as
    /// it is with a new file's mode. Users and groups that it names keep theirs.
    /// <https://man7.org/linux/man-pages/man5/acl.5.html>
    var forNewDatabase: FileAttributes {
        var narrowed = self
        // A version, then entries: a tag, permissions and an id, of 2, 2 and 4 bytes.
        guard var list = values[Self.accessList] else { return self }
        let (group, others): (UInt8, UInt8) = (0x04, 0x20)
        for entry in stride(from: 4, to: list.count - 7, by: 8)
        where [group, others].contains(list[entry]) {
            list[entry + 2] = 0
        }
        narrowed.values[Self.accessList] = list
        return narrowed
    }

    private static let accessList = "system.posix_acl_access"

    /// Gives a new file the attributes, and has them reach the disk.
    func give(to file: NewFile) throws {
        guard !values.isEmpty else { return }
        try file.write { descriptor in
            for (name, value) in values
            where fsetxattr(descriptor, name, value, value.count, 0) != 0 {
                throw NewFileError(file.shownPath, errno)
            }
            guard fsync(descriptor) == 0 else { throw NewFileError(file.shownPath, errno) }
        }
    }

    private static func names(_ path: String) throws(NewFileError) -> [String] {
        try read(path) { buffer, count in
            listxattr(path, buffer.map { $0.assumingMemoryBound(to: CChar.self) }, count)
        }.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Calls a function of the system for the size, and then for the bytes.
    ///
    /// - Returns: Nothing where the file system has no attributes.
    private static func read(
        _ path: String,
        _ call: (UnsafeMutableRawPointer?, Int) -> Int
    ) throws(NewFileError) -> [UInt8] {
        while true {
            let count = call(nil, 0)
            guard count >= 0 else {
                if errno == EOPNOTSUPP { return [] }
                throw NewFileError(path, errno)
            }
            guard count > 0 else { return [] }
            var bytes = [UInt8](repeating: 0, count: count)
            let found = bytes.withUnsafeMutableBytes { call($0.baseAddress, count) }
            // It may have grown meanwhile.
            if found < 0, errno == ERANGE { continue }
            guard found >= 0 else { throw NewFileError(path, errno) }
            return Array(bytes.prefix(found))
        }
    }
}
