import CSQLCipher
import Foundation
import MigrationKitCommon

/// Where SQLite keeps what it would put into temporary files: in memory, and beyond 32 MB for the
/// whole process in encrypted files beside the database. See ``TemporaryFile``.
///
/// SQLite creates temporary files through its VFS, the layer that accesses the file system.
/// <https://www.sqlite.org/vfs.html> GRDB always opens connections with the default VFS, so the one
/// here becomes the default. It passes everything but temporary files on to the one that was the
/// default before, and the files that are opened are that one's own. So an app's other connections
/// notice nothing: SQLCipher's library creates temporary files only for a connection that sets
/// `temp_store = FILE`. <https://www.sqlite.org/tempfiles.html>
///
/// It also keeps the path of a ``HeldFolder``'s file as it is, and that of a file that was looked at.
/// SQLite would resolve it to a name, and find under that whatever others have put there.
package enum TemporaryStorage {
    /// In bytes.
    package static let memoryLimit = 32 << 20

    /// How many bytes the temporary files of the whole process have on the disk now.
    package static var byteCountOnDisk: Int { EncryptedSectors.totalByteCount }

    /// Serves the connections that are opened from now on.
    package static func install() {
        _ = system
    }

    /// Whether a connection's temporary files are encrypted. If so, they are created beside its
    /// database from now on.
    ///
    /// They aren't if the connection was opened before ``install()``, or with another VFS.
    package static func serves(_ connection: OpaquePointer?) -> Bool {
        var found: UnsafeMutablePointer<sqlite3_vfs>?
        let code = sqlite3_file_control(connection, "main", SQLITE_FCNTL_VFS_POINTER, &found)
        guard code == SQLITE_OK, let found, found == system else { return false }
        if let path = sqlite3_db_filename(connection, "main"), path.pointee != 0 {
            use(beside: String(cString: path))
        }
        return true
    }

    /// Makes temporary files beside a database from now on, if its folder can be written.
    ///
    /// SQLite doesn't say which connection needs a file. With databases in several folders, it may
    /// be in any of them.
    package static func use(beside path: String) {
        // A held folder is soon gone. What is made beside it has no name and is encrypted.
        let path = HeldFolder.neighbour(of: path)
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) + "/" } ?? "."
        guard access(folder, W_OK | X_OK) == 0 else { return }
        place.withLock { $0 = path }
    }

    private static let place = Locked<String?>(nil)
    package static let room = MemoryRoom(memoryLimit)

    // MARK: - Paths

    /// Paths whose links SQLite doesn't follow, with how many connections are being opened there.
    private static let kept = Locked<[String: Int]>([:])

    /// Has `open` open a file that was looked at. If others have put a link in its place, SQLite doesn't
    /// follow it: the system's VFS resolves links itself, and then refuses those that it meets.
    ///
    /// - Parameter path: The file, in a folder whose links are resolved.
    package static func followingNoLink<Value>(
        at path: String,
        _ open: () throws -> Value
    ) rethrows -> Value {
        kept.withLock { $0[path, default: 0] += 1 }
        defer {
            kept.withLock { $0[path] = $0[path].flatMap { $0 > 1 ? $0 - 1 : nil } }
        }
        return try open()
    }

    private static func keeps(_ path: String) -> Bool {
        HeldFolder.holds(path) || kept.withLock { $0[path] != nil }
    }

    // MARK: - The VFS

    /// `nil` if it can't be registered. Never freed, since connections refer to it.
    nonisolated(unsafe) private static let system: UnsafeMutablePointer<sqlite3_vfs>? = {
        guard let original = sqlite3_vfs_find(nil), let name = strdup("migrationkit") else {
            return nil
        }
        let system = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        system.initialize(to: passing(to: original))
        system.pointee.zName = UnsafePointer(name)
        system.pointee.szOsFile = max(
            original.pointee.szOsFile,
            Int32(MemoryLayout<OpenTemporaryFile>.size)
        )
        system.pointee.xOpen = { system, name, file, flags, openedFlags in
            guard name == nil else {
                let original = TemporaryStorage.original(of: system)
                return original?.pointee.xOpen(original, name, file, flags, openedFlags)
                    ?? SQLITE_MISUSE
            }
            openedFlags?.pointee = flags
            return OpenTemporaryFile.open(
                file,
                TemporaryFile(room: room) { place.withLock { $0 } }
            )
        }
        return sqlite3_vfs_register(system, 1) == SQLITE_OK ? system : nil
    }()

    private static func original(
        of system: UnsafeMutablePointer<sqlite3_vfs>?
    ) -> UnsafeMutablePointer<sqlite3_vfs>? {
        system?.pointee.pAppData?.assumingMemoryBound(to: sqlite3_vfs.self)
    }

    /// A VFS whose methods call those of another one, with that one as the argument: it may have
    /// more after its methods.
    private static func passing(
        to original: UnsafeMutablePointer<sqlite3_vfs>
    ) -> sqlite3_vfs {
        var system = original.pointee
        system.iVersion = min(system.iVersion, 3)
        system.pNext = nil
        system.pAppData = UnsafeMutableRawPointer(original)
        system.xDelete = { system, name, synchronizes in
            let original = TemporaryStorage.original(of: system)
            return original?.pointee.xDelete(original, name, synchronizes) ?? SQLITE_MISUSE
        }
        system.xAccess = { system, name, flags, result in
            let original = TemporaryStorage.original(of: system)
            return original?.pointee.xAccess(original, name, flags, result) ?? SQLITE_MISUSE
        }
        system.xFullPathname = { system, name, count, path in
            if let name, let path, strlen(name) < Int(count),
                TemporaryStorage.keeps(String(cString: name))
            {
                strcpy(path, name)
                return SQLITE_OK
            }
            let original = TemporaryStorage.original(of: system)
            return original?.pointee.xFullPathname(original, name, count, path) ?? SQLITE_MISUSE
        }
        if system.xDlOpen != nil {
            system.xDlOpen = { system, name in
                let original = TemporaryStorage.original(of: system)
                return original?.pointee.xDlOpen(original, name)
            }
            system.xDlError = { system, count, message in
                let original = TemporaryStorage.original(of: system)
                original?.pointee.xDlError(original, count, message)
            }
            system.xDlSym = { system, library, symbol in
                let original = TemporaryStorage.original(of: system)
                return original?.pointee.xDlSym(original, library, symbol)
            }
            system.xDlClose = { system, library in
                let original = TemporaryStorage.original(of: system)
                original?.pointee.xDlClose(original, library)
            }
        }
        system.xRandomness = { system, count, bytes in
            let original = TemporaryStorage.original(of: system)
            return original?.pointee.xRandomness(original, count, bytes) ?? 0
        }
        system.xSleep = { system, microseconds in
            let original = TemporaryStorage.original(of: system)
            return original?.pointee.xSleep(original, microseconds) ?? 0
        }
        system.xCurrentTime = { system, time in
            let original = TemporaryStorage.original(of: system)
            return original?.pointee.xCurrentTime(original, time) ?? SQLITE_ERROR
        }
        if system.xGetLastError != nil {
            system.xGetLastError = { system, count, message in
                let original = TemporaryStorage.original(of: system)
                return original?.pointee.xGetLastError(original, count, message) ?? 0
            }
        }
        if system.iVersion >= 2, system.xCurrentTimeInt64 != nil {
            system.xCurrentTimeInt64 = { system, time in
                let original = TemporaryStorage.original(of: system)
                return original?.pointee.xCurrentTimeInt64(original, time) ?? SQLITE_ERROR
            }
        }
        // Replacing the system calls of a VFS by its name is for tests of SQLite.
        system.iVersion = min(system.iVersion, 2)
        return system
    }
}

/// A temporary file as SQLite has it open.
private struct OpenTemporaryFile {
    var file: sqlite3_file
    var content: Unmanaged<TemporaryFile>

    /// - Parameter place: Memory for a file of the VFS.
    static func open(_ place: UnsafeMutablePointer<sqlite3_file>?, _ content: TemporaryFile)
        -> Int32
    {
        guard let place else { return SQLITE_MISUSE }
        UnsafeMutableRawPointer(place).initializeMemory(
            as: OpenTemporaryFile.self,
            to: OpenTemporaryFile(
                file: sqlite3_file(pMethods: UnsafePointer(methods)),
                content: .passRetained(content)
            )
        )
        return SQLITE_OK
    }

    private static func content(of file: UnsafeMutablePointer<sqlite3_file>?) -> TemporaryFile? {
        file.map {
            UnsafeMutableRawPointer($0).assumingMemoryBound(to: OpenTemporaryFile.self).pointee
                .content
                .takeUnretainedValue()
        }
    }

    nonisolated(unsafe) private static let methods: UnsafeMutablePointer<sqlite3_io_methods> = {
        var methods = sqlite3_io_methods()
        // No shared memory, and no mapping into memory, which would bypass the encryption.
        methods.iVersion = 1
        methods.xClose = { file in
            file.map {
                UnsafeMutableRawPointer($0).assumingMemoryBound(to: OpenTemporaryFile.self).pointee
                    .content
                    .release()
                $0.pointee.pMethods = nil
            }
            return SQLITE_OK
        }
        methods.xRead = { file, bytes, count, offset in
            let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: Int(count))
            return OpenTemporaryFile.content(of: file)?.read(into: buffer, at: Int(offset))
                ?? SQLITE_MISUSE
        }
        methods.xWrite = { file, bytes, count, offset in
            let bytes = UnsafeRawBufferPointer(start: bytes, count: Int(count))
            return OpenTemporaryFile.content(of: file)?.write(bytes, at: Int(offset))
                ?? SQLITE_MISUSE
        }
        methods.xTruncate = { file, size in
            OpenTemporaryFile.content(of: file)?.setSize(Int(size)) ?? SQLITE_MISUSE
        }
        methods.xFileSize = { file, size in
            size?.pointee = sqlite3_int64(OpenTemporaryFile.content(of: file)?.size ?? 0)
            return SQLITE_OK
        }
        // A crash loses the file in any case, and nobody else has it open.
        methods.xSync = { _, _ in SQLITE_OK }
        methods.xLock = { _, _ in SQLITE_OK }
        methods.xUnlock = { _, _ in SQLITE_OK }
        methods.xCheckReservedLock = { _, isReserved in
            isReserved?.pointee = 0
            return SQLITE_OK
        }
        methods.xFileControl = { _, _, _ in SQLITE_NOTFOUND }
        methods.xSectorSize = { _ in 4096 }
        methods.xDeviceCharacteristics = { _ in 0 }
        let pointer = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        pointer.initialize(to: methods)
        return pointer
    }()
}
