import Foundation
import GRDB
import Glibc
import MigrationKitKeys
import MigrationKitSQLCipher
import TestSupport
import Testing

@Suite struct PermissionTests {
    private let folder: TemporaryFolder
    private let key: TestKey
    private var path: String { folder.database }

    init() throws {
        folder = try TemporaryFolder()
        // The other user reaches the file unless a test says otherwise.
        try #require(chmod(folder.path, 0o755) == 0)
        key = try .raw()
        try Fixtures.encrypted(path, key: key)
    }

    @Test func anUnreadableFileIsTold() throws {
        try setMode(0o000, of: "notes.db")
        let before = folder.mode("notes.db")
        try expect(.permissionDenied(path: path), isReadOnly: false)
        try expect(.permissionDenied(path: path), isReadOnly: true)
        #expect(folder.mode("notes.db") == before)
        #expect(try folder.names == ["notes.db"])
    }

    @Test func aFileInAnUnreadableFolderIsTold() throws {
        try setMode(0o000, of: ".")
        try expect(.permissionDenied(path: path), isReadOnly: false)
    }

    @Test func aFileThatMayOnlyBeReadIsTold() throws {
        try setMode(0o444, of: "notes.db")
        try setMode(0o777, of: ".")
        try expect(.readOnly(path: path), isReadOnly: false)
        try expect(nil, isReadOnly: true)
        #expect(try folder.names == ["notes.db"])
    }

    @Test func aFolderThatMayOnlyBeReadIsTold() throws {
        try setMode(0o666, of: "notes.db")
        try setMode(0o555, of: ".")
        try expect(.readOnlyFolder(path: path), isReadOnly: false)
        try expect(nil, isReadOnly: true)
    }

    @Test func aDatabaseInWALModeNeedsItsFolderEvenForReading() throws {
        _ = try SQLCipherShell.run(path, key: key.spelling, "PRAGMA journal_mode = WAL;")
        try setMode(0o666, of: "notes.db")
        try setMode(0o555, of: ".")
        try expect(.readOnlyFolder(path: path), isReadOnly: true)
        #expect(try folder.names == ["notes.db"])
    }

    @Test func aCreationWithoutPermissionIsTold() throws {
        try setMode(0o555, of: ".")
        let path = folder.path("new.db")
        let error = try OtherUser.run { [key] in
            try EncryptedDatabase.open(path, key: key.key, options: .init(createsFile: true))
        }
        #expect(
            error as? EncryptedDatabaseError
                == .cannotCreate(path: path, reason: "permission denied")
        )
        #expect(try folder.names == ["notes.db"])
    }

    private func setMode(_ mode: mode_t, of name: String) throws {
        #expect(chmod(folder.path(name), mode) == 0)
    }

    private func expect(
        _ expected: EncryptedDatabaseError?,
        isReadOnly: Bool,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let options = EncryptedDatabase.Options(isReadOnly: isReadOnly)
        let error = try OtherUser.run { [path, key] in
            try EncryptedDatabase.open(path, key: key.key, options: options)
        }
        #expect(error as? EncryptedDatabaseError == expected, sourceLocation: sourceLocation)
        #expect((error == nil) == (expected == nil), sourceLocation: sourceLocation)
    }
}

/// A user to whom the modes of root's files apply.
enum OtherUser {
    private typealias SetFileSystemUser = @convention(c) (uid_t) -> Int32

    /// Opens a database in a thread that has, if this is root's process, another user's rights to
    /// files. They are a matter of the thread alone, and so don't disturb the tests beside it.
    /// <https://man7.org/linux/man-pages/man2/setfsuid.2.html>
    ///
    /// - Returns: What the opening threw.
    static func run(_ open: @escaping @Sendable () throws -> DatabaseQueue) throws -> (any Error)? {
        let symbol = try #require(dlsym(nil, "setfsuid"))
        let setFileSystemUser = unsafeBitCast(symbol, to: SetFileSystemUser.self)
        nonisolated(unsafe) var thrown: (any Error)?
        let done = DispatchSemaphore(value: 0)
        let thread = Thread {
            if geteuid() == 0 { _ = setFileSystemUser(65534) }
            do { try open().close() } catch { thrown = error }
            done.signal()
        }
        thread.start()
        done.wait()
        return thrown
    }
}
