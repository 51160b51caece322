import Foundation
import GRDB
import MigrationKitSQL
import TestSupport
import Testing

/// Checksums of other tools that are those of the files with other line ends: git's `core.autocrlf`
/// writes them as the system has them.
@Suite struct LineEndTests {
    private static let text = "CREATE TABLE a (\n  x);\n"

    /// What `sha384sum` says of the text with line feeds, and with carriage returns before them.
    private static let (lineFeeds, both) = (
        """
        1d84bca514b3747c770f637cc0a63e95260ef8e89affcc326db8a7e04bdd6b50\
        1f6be3c7b993f02d362353e259ffe50e
        """,
        """
        87aeb29a576fdccc77d976f0a0450243d0514770707601275d685bb5bd394717\
        4673ce5a020157325ad88a596a0d309c
        """
    )

    private func adopt(_ text: String, checksum: String) throws -> MigrationAdoption {
        let folder = try TemporaryFolder(["1_a.sql": text, "2_b.sql": "SELECT 1"])
        let database = try DatabaseQueue()
        try database.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE _sqlx_migrations (
                        version BIGINT PRIMARY KEY, description TEXT NOT NULL,
                        installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
                        success BOOLEAN NOT NULL, checksum BLOB NOT NULL,
                        execution_time BIGINT NOT NULL);
                    INSERT INTO _sqlx_migrations
                        (version, description, success, checksum, execution_time)
                        VALUES (1, 'a', TRUE, x'\(checksum)', 5);
                    """
            )
        }
        let migrations = try folder.migrations()
        return try database.read { try migrations.adoption(from: .sqlx, in: $0) }
    }

    private func note(_ applied: String) -> String {
        """
        sqlx applied 1_a with \(applied) as line ends, and here the lines end otherwise; git's \
        core.autocrlf does so. Nothing else differs. In new databases, a literal of several lines has \
        the line ends of the file.
        """
    }

    @Test func otherLineEndsAreNotedAndNotRefused() throws {
        let windows = Self.text.replacing("\n", with: "\r\n")
        let adopted = try adopt(windows, checksum: Self.lineFeeds)
        #expect(adopted.identifiers == ["1_a"])
        #expect(adopted.notes == [note("LF")])
        let other = try adopt(Self.text, checksum: Self.both)
        #expect(other.identifiers == ["1_a"])
        #expect(other.notes == [note("CRLF")])
        #expect(try adopt(Self.text, checksum: Self.lineFeeds).notes.isEmpty)
        #expect(try adopt(windows, checksum: Self.both).notes.isEmpty)
    }

    @Test func someOtherLineEndsAreTheSameText() throws {
        let mixed = "CREATE TABLE a (\r\n  x);\n"
        #expect(try adopt(mixed, checksum: Self.lineFeeds).notes == [note("LF")])
        #expect(try adopt(mixed, checksum: Self.both).notes == [note("CRLF")])
    }

    @Test(arguments: [
        "CREATE TABLE a (\n  y);\n", "CREATE TABLE a (\n  x);", "CREATE TABLE a (\r  x);\r",
    ])
    func everythingElseIsAChange(text: String) throws {
        for checksum in [Self.lineFeeds, Self.both] {
            #expect(throws: MigrationAdoptionError.changedMigrations(.sqlx, identifiers: ["1_a"])) {
                try adopt(text, checksum: checksum)
            }
        }
    }
}
