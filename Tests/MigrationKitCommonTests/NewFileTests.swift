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
        let stale = NewFileError(new.path, ESTALE)
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
            let name = (try? folder.names)?.first {
                $0.hasPrefix(".a.sql-writing-") && !$0.hasSuffix(".lock")
            }
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
        #expect(try NewFiles(for: path).leftovers().sorted() == left)
        NewFiles(for: path).removeLeftovers()
        #expect(try folder.names == others)
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
        #expect(folder.mode(URL(fileURLWithPath: file.path).lastPathComponent) == 0o600)
        try file.finish(mode: 0o400, owner: (user: geteuid(), group: getegid()))
        try file.place(at: path)
        #expect(folder.mode("a.db") == 0o400)
        file.remove()
        #expect(try folder.names == ["a.db"])
    }
}
