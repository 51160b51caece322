import Foundation
import GRDB
import MigrationKitPages
import MigrationKitSQLCipher
import TestSupport
import Testing

/// Links that other users may lay where several may write.
@Suite struct OtherUsersLinkTests {
    private let folder: TemporaryFolder
    private let key: TestKey
    private var path: String { folder.database }

    init() throws {
        folder = try TemporaryFolder()
        key = try .raw()
    }

    /// In a folder of several users, any of them could lead the others to any of their files.
    @Test(
        .enabled(if: geteuid() == 0),
        arguments: [0o1777, 0o777, 0o770, 0o755],
        ["link.db", "folder/notes.db"]
    )
    func aLinkThatAnotherUserHasLaidIsNotFollowed(_ mode: mode_t, _ name: String) throws {
        try Fixtures.encrypted(path, key: key)
        let shared = try TemporaryFolder()
        let link = shared.path + "/" + name.split(separator: "/")[0]
        let linked = shared.path + "/" + name
        try #require(symlink(name == "link.db" ? path : folder.path, link) == 0)
        try #require(chmod(shared.path, mode) == 0)
        // One's own, and root's, are followed.
        try EncryptedDatabase.open(linked, key: key.key).close()
        try #require(lchown(link, 65_534, 65_534) == 0)
        let refusal = EncryptedDatabaseError.linkOfAnother(path: linked, link: link)
        let opens = Result { try EncryptedDatabase.open(linked, key: key.key).close() }
        let before = try folder.data("notes.db")
        let restore = DatabaseRestore(linked, from: path, form: .encrypted(key.key))
        if mode == 0o755 {
            try opens.get()
        } else {
            #expect(throws: refusal) { try opens.get() }
            #expect(throws: refusal) { try restore.run() }
            #expect(throws: refusal) {
                try DatabaseConversion(linked, from: .encrypted(key.key), to: .plaintext()).run()
            }
            // Nor one in whose place there is nothing yet.
            try #require(unlink(path) == 0)
            #expect(throws: refusal) {
                try EncryptedDatabase.open(
                    linked,
                    key: key.key,
                    options: .init(createsFile: true)
                )
            }
            #expect(try !folder.names.contains("notes.db"))
            try folder.write("notes.db", before)
        }
        // Who owns the folder decides what is in it.
        try #require(chown(shared.path, 65_534, 65_534) == 0)
        try EncryptedDatabase.open(linked, key: key.key).close()
        #expect(try folder.data("notes.db") == before)
    }

    /// Others may put it there between the creation of the file and its opening.
    @Test func aLinkInThePlaceOfANewFileIsNotFollowed() throws {
        TemporaryStorage.install()
        let target = folder.path("elsewhere.db")
        try #require(symlink(target, path) == 0)
        let error = #expect(throws: DatabaseError.self) {
            try TemporaryStorage.followingNoLink(at: path) { _ = try DatabaseQueue(path: path) }
        }
        #expect(error?.resultCode == .SQLITE_CANTOPEN)
        #expect(try folder.names == ["notes.db"])
        // Others are.
        try DatabaseQueue(path: path).close()
        #expect(try folder.names.contains("elsewhere.db"))
    }

    /// Others may put it there between the look at a file and its opening.
    @Test(arguments: [true, false])
    func aLinkInThePlaceOfAFileThatWasLookedAtIsNotFollowed(isEmpty: Bool) throws {
        let target = folder.path("elsewhere.db")
        if isEmpty {
            try folder.write("notes.db", Data())
        } else {
            try EncryptedDatabase.openPlaintext(path, options: .init(createsFile: true)).close()
        }
        let opening = Opening(path: path, key: nil, options: .init(createsFile: true))
        #expect(throws: EncryptedDatabaseError.self) {
            _ = try opening.run { path, configuration in
                try #require(unlink(path) == 0 && symlink(target, path) == 0)
                return try DatabaseQueue(path: path, configuration: configuration)
            }
        }
        #expect(try folder.names == ["notes.db"])
    }
}
