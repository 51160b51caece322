import MigrationKitCommon
import Foundation
import TestSupport
import Testing

@Suite struct NewFileTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Who may write to the folder can put another file in its place. Root would give it to the owner.
    @Test func anotherFileInItsPlaceGetsNothing() throws {
        let new = try NewFiles(for: folder.path("a.db")).make()
        defer { new.remove() }
        try folder.write("other", "own".utf8, mode: 0o400)
        try #require(rename(folder.path("other"), new.path) == 0)
        let stale = NewFileError(new.shownPath, ESTALE)
        #expect(throws: stale) { try new.finish(mode: 0o644) }
        #expect(throws: stale) { try new.write { _ in Issue.record("opened") } }
        var status = stat()
        #expect(stat(new.path, &status) == 0 && status.st_mode & 0o777 == 0o400)
    }

    @Test func whatIsThereIsReplacedOnlyIfThatIsAskedFor() throws {
        let path = folder.path("a.txt")
        try NewFile.write("one".utf8, to: path, replaces: false)
        #expect(throws: NewFileError(path, EEXIST)) {
            try NewFile.write("two".utf8, to: path, replaces: false)
        }
        #expect(try folder.data("a.txt") == Data("one".utf8))
        try NewFile.write("three".utf8, to: path, mode: 0o640, replaces: true)
        #expect(try folder.data("a.txt") == Data("three".utf8))
        #expect(folder.mode("a.txt") == 0o640)
        #expect(try folder.names == ["a.txt"])
    }

    /// The file may hold what only its owner may read. The umask decides about new ones.
    @Test func whatReplacesAPrivateFileIsPrivateWhileItIsWritten() throws {
        let path = folder.path("a.sql")
        let bytes = (0..<1).lazy.map { _ -> UInt8 in
            let name = (try? folder.drafts(".a.sql-writing-"))?.first { !$0.hasSuffix(".lock") }
            #expect(name.map(folder.mode) == 0o600)
            return 0
        }
        try NewFile.write(bytes, to: path, mode: 0o640, replaces: true)
        #expect(folder.mode("a.sql") == 0o640)
    }

    @Test func whatFailsLeavesNothing() throws {
        let path = folder.path("nowhere/a.txt")
        let error = #expect(throws: NewFileError.self) {
            try NewFile.write("one".utf8, to: path, replaces: false)
        }
        #expect(error?.code == ENOENT)
        #expect(try folder.names == [])
    }

    @Test func whatAKilledRunLeftIsRemoved() throws {
        let path = folder.path("a.db")
        let others = [".a.db-converting-", ".a.db-converting-1f-mine", ".b.db-converting-1f"]
        let left = [".a.db-converting-1f", ".a.db-converting-1f-wal", ".a.db-converting-2e"]
        for name in others + left { try folder.write(name, []) }
        for name in [".a.db-converting-3d", ".a.db-converting-4c"] {
            try folder.makeFolder(name)
            for suffix in ["", "-wal"] { try folder.write("\(name)/\(name)\(suffix)", []) }
        }
        // Another folder of the user's to which somebody has given the name.
        try folder.write(".a.db-converting-4c/1f", [])
        let rooms = [".a.db-converting-3d", ".a.db-converting-4c"]
        #expect(try NewFiles(for: path).leftovers().sorted() == (left + rooms).sorted())
        NewFiles(for: path).removeLeftovers()
        #expect(try folder.names == (others + [".a.db-converting-4c"]).sorted())
        #expect(try folder.drafts(".a.db-converting-4c") == [".a.db-converting-4c/1f"])
    }

    // MARK: - Others Who May Write to the Folder

    /// The hidden folder, and what others put in its place.
    enum Laid: CaseIterable {
        case link, folder, folderWithLink
    }

    /// Takes the hidden folder away, and lays something in its place that leads to `trap`.
    private func take(_ laid: Laid, _ new: NewFile) throws {
        let room = try #require(try folder.names.first { $0.hasPrefix(".a.db-") })
        try folder.makeFolder("trap")
        try #require(rename(folder.path(room), folder.path("taken")) == 0)
        switch laid {
        case .link: symlink(folder.path("trap"), folder.path(room))
        case .folder: try folder.makeFolder(room, mode: 0o777)
        case .folderWithLink:
            try folder.makeFolder(room, mode: 0o777)
            symlink(folder.path("trap/\(room)"), folder.path("\(room)/\(room)"))
        }
    }

    @Test(arguments: Laid.allCases, [NewFiles.Ownership.converting, .writing])
    func whatTakesThePlaceOfTheHiddenFolderGetsNothing(
        _ laid: Laid,
        _ ownership: NewFiles.Ownership
    ) throws {
        let path = folder.path("a.db")
        let new = try NewFiles(ownership, for: path).make()
        try take(laid, new)
        try new.write { descriptor in
            #expect(Array("one".utf8).withUnsafeBytes { writeAll($0, to: descriptor) } == nil)
        }
        try new.finish(mode: 0o600)
        try new.place(at: path)
        #expect(try folder.data("a.db") == Data("one".utf8))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("trap")) == [])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("taken")) == [])
    }

    /// Whoever may write to the folder above can put a link there.
    @Test func theFileGetsItsNameInTheFolderThatItWasMadeFor() throws {
        try folder.makeFolder("shared")
        try folder.makeFolder("other")
        try folder.write("other/a.db", "precious".utf8)
        let new = try NewFiles(for: folder.path("shared/a.db")).make()
        try #require(rename(folder.path("shared"), folder.path("moved")) == 0)
        symlink(folder.path("other"), folder.path("shared"))
        try new.replace(folder.path("shared/a.db"))
        #expect(try folder.data("other/a.db") == Data("precious".utf8))
        #expect(try folder.data("moved/a.db") == Data())
        #expect(try folder.drafts("") == ["moved/a.db", "other/a.db", "shared/a.db"])
    }

    @Test func othersCanNotEnterTheHiddenFolder() throws {
        let new = try NewFiles(for: folder.path("a.db")).make()
        defer { new.remove() }
        let room = try #require(try folder.names.first)
        #expect(folder.mode(room) == 0o700)
    }

    /// An app's own SQLite resolves the path, and would open what others have put there.
    @Test func aConnectionToSomethingElseIsNoticed() throws {
        let new = try NewFiles(for: folder.path("a.db")).make()
        defer { new.remove() }
        let other = try folder.write("other", [])
        #expect(throws: NewFileError(new.shownPath, ESTALE)) {
            try new.connecting { _ in FileHandle(forReadingAtPath: other) }
        }
        _ = try new.connecting { FileHandle(forReadingAtPath: $0) }
    }

    /// Two commands may write the same file at the same time, without a lock of the file itself.
    @Test func whatAnotherRunIsMakingStays() throws {
        let path = folder.path("a.sql")
        let files = NewFiles(.writing, for: path)
        let first = try files.make()
        try first.write { descriptor in
            #expect(Array("one".utf8).withUnsafeBytes { writeAll($0, to: descriptor) } == nil)
        }
        files.removeLeftovers()
        try NewFile.write("two".utf8, to: path, replaces: true)
        try first.finish(mode: nil)
        #expect(throws: NewFileError(path, EEXIST)) { try first.place(at: path) }
        try first.replace(path)
        #expect(try folder.data("a.sql") == Data("one".utf8))
        #expect(try folder.names == ["a.sql"])
    }

    @Test func aNewFileHasItsOwnerAndModeWhenItGetsItsName() throws {
        let path = folder.path("a.db")
        let file = try NewFiles(for: path).make()
        #expect(try folder.drafts(".a.db-").map(folder.mode) == [0o600])
        try file.finish(mode: 0o400, owner: (user: geteuid(), group: getegid()))
        try file.place(at: path)
        #expect(folder.mode("a.db") == 0o400)
        file.remove()
        #expect(try folder.names == ["a.db"])
    }
}
