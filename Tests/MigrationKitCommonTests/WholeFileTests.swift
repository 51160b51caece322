import MigrationKitCommon
import Foundation
import TestSupport
import Testing

@Suite struct WholeFileTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test func whatIsThereIsReplacedOnlyIfThatIsAskedFor() throws {
        let path = folder.path("a.txt")
        #expect(WholeFile.write("one".utf8, to: path, replaces: false) == 0)
        #expect(WholeFile.write("two".utf8, to: path, replaces: false) == EEXIST)
        #expect(try folder.data("a.txt") == Data("one".utf8))
        #expect(WholeFile.write("three".utf8, to: path, mode: 0o640, replaces: true) == 0)
        #expect(try folder.data("a.txt") == Data("three".utf8))
        #expect(folder.mode("a.txt") == 0o640)
        #expect(try folder.names == ["a.txt"])
    }

    @Test func whatFailsLeavesNothing() throws {
        let path = folder.path("nowhere/a.txt")
        #expect(WholeFile.write("one".utf8, to: path, replaces: false) == ENOENT)
        #expect(try folder.names == [])
    }
}
