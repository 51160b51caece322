import Foundation
import MigrationKitSQL
import TestSupport
import Testing

/// What changes the checksum of a step, and what doesn't.
@Suite struct ChecksumTests {
    private func checksum(_ text: String) throws -> String {
        let folder = try TemporaryFolder()
        try folder.write("0001_a.sql", text.utf8)
        let step = try #require(try folder.migrations().steps.first)
        return try #require(step.checksum)
    }

    @Test(arguments: [
        "-- migrate:up\nCREATE TABLE a (\n  id\tINTEGER\n)\n\n;\n-- migrate:down\nDROP TABLE a;",
        "-- about it\n-- migrate:up\nCREATE /* so */ TABLE a (id INTEGER) -- the end",
        "-- migrate:up\r\nCREATE TABLE a (id INTEGER);\r\n",
        "\u{FEFF}-- migrate:up\nCREATE TABLE a(id INTEGER);",
        "CREATE TABLE a (id INTEGER);;",
    ])
    func commentsWhiteSpaceAndTheWayBackDoNotCount(_ text: String) throws {
        let original = "-- migrate:up\nCREATE TABLE a (id INTEGER);\n"
        #expect(try checksum(text) == checksum(original))
    }

    @Test(arguments: [
        "CREATE TABLE b (id INTEGER);",
        "CREATE TABLE a (id INTEGER); CREATE TABLE b (id INTEGER);",
        "CREATE TABLE a (i d INTEGER);",
        "CREATE TABLE a (\"id\" INTEGER);",
        "CREATE TABLE a (id INTEGER, t TEXT DEFAULT ' -- ');",
    ])
    func everythingElseCounts(_ text: String) throws {
        #expect(try checksum(text) != checksum("CREATE TABLE a (id INTEGER);"))
    }

    @Test func spaceInALiteralCounts() throws {
        let one = try checksum("INSERT INTO a VALUES ('x y');")
        #expect(try one != checksum("INSERT INTO a VALUES ('x  y');"))
        #expect(try one != checksum("INSERT INTO a VALUES ('x\ny');"))
    }

    /// Databases remember it: it must never come out otherwise.
    @Test func checksumIsTheOneOfEveryRelease() throws {
        // printf 'SELECT\x001\x00' | sha256sum
        let known = "7ad65f73cf6acfd85d1240a579325180605e52b8ca561ea1fdc127e84abdbdde"
        #expect(try checksum("SELECT 1;") == "sha256:\(known)")
    }
}
