import Foundation
import MigrationKit
import MigrationKitSQL
import TestSupport
import Testing

/// What may be a migration is read, or refused by its name. It is never left out in silence.
@Suite struct FolderEntryTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func writeDiesels(_ name: String) throws {
        try folder.makeFolder(name)
        try folder.write("\(name)/up.sql", "SELECT 1;".utf8)
    }

    private func link(_ name: String, to target: String = "nowhere") throws {
        #expect(symlink(target, folder.path(name)) == 0)
    }

    /// A name in Latin 1, with the byte in place of '?'.
    private func latin(_ name: String) -> [CChar] {
        folder.path(name).utf8.map { CChar(bitPattern: $0 == UInt8(ascii: "?") ? 0xE9 : $0) } + [0]
    }

    private func refusal() -> String? {
        #expect(throws: MigrationFolderError.self) { try folder.migrations() }?.errorDescription
    }

    // MARK: - Links that lead nowhere

    @Test(arguments: ["2024-01-02_b", "2_b", "2_b.sql", "2_b.up.sql"])
    func danglingLinkIsRefusedByItsName(name: String) throws {
        try writeDiesels("1_a")
        try link(name)
        #expect(refusal() == "\(name): there is no such file")
    }

    @Test func linkToItselfIsRefusedByItsName() throws {
        try writeDiesels("1_a")
        try link("2_b", to: "2_b")
        #expect(refusal() == "2_b: there is no such file")
    }

    @Test func danglingMetadataIsNotTakenForNone() throws {
        try writeDiesels("1_a")
        try link("1_a/metadata.toml")
        #expect(refusal() == "1_a/metadata.toml: there is no such file")
    }

    /// Diesel takes everything but a file for a migration.
    @Test func danglingLinkWithoutANumberIsRefusedAmongDieselsFolders() throws {
        try link("b")
        try folder.write("1_a.sql", "SELECT 1;".utf8)
        #expect(try folder.migrations().steps.map(\.identifier) == ["1_a"])
        try FileManager.default.removeItem(atPath: folder.path("1_a.sql"))
        try writeDiesels("1_a")
        #expect(refusal() == "b: there is no such file")
    }

    @Test func folderWithoutANumberIsRefusedAmongDieselsFolders() throws {
        try writeDiesels("1_a")
        try folder.makeFolder("notes")
        try folder.write("notes/other.sql", "SELECT 1;".utf8)
        #expect(try folder.migrations().steps.count == 1)
        try writeDiesels("later")
        #expect(
            refusal()
                == "later: diesel would run the up.sql of this folder, whose name doesn't begin with a number"
        )
    }

    // MARK: - Names that aren't UTF-8

    @Test(arguments: ["2024-01-02_caf?", "2_caf?"])
    func folderWhoseNameIsNotUTF8IsRefusedByItsName(name: String) throws {
        try writeDiesels("1_a")
        try #require(mkdir(latin(name), 0o700) == 0)
        let shown = name.replacing("?", with: "\u{FFFD}")
        #expect(refusal() == "\(shown): the name is not UTF-8")
    }

    @Test(arguments: ["2_caf?.sql", "2_caf?.up.sql", "V2__caf?.sql", "caf?.SQL"])
    func fileWhoseNameIsNotUTF8IsRefusedByItsName(name: String) throws {
        try folder.write("1_a.sql", "SELECT 1;".utf8)
        let descriptor = open(latin(name), O_CREAT | O_WRONLY, 0o600)
        try #require(descriptor >= 0)
        close(descriptor)
        let shown = name.replacing("?", with: "\u{FFFD}")
        #expect(refusal() == "\(shown): the name is not UTF-8")
        // The folder of checks is read by the same rule.
        let error = #expect(throws: MigrationFolderError.self) {
            try CheckQuery.inFolder(folder.path)
        }
        #expect(error?.errorDescription?.hasSuffix("the name is not UTF-8") == true)
    }

    @Test func nameThatIsNoMigrationsMayBeAnything() throws {
        try folder.write("1_a.sql", "SELECT 1;".utf8)
        for name in ["caf?.txt", ".2_caf?.sql"] {
            let descriptor = open(latin(name), O_CREAT | O_WRONLY, 0o600)
            try #require(descriptor >= 0)
            close(descriptor)
        }
        // This one is UTF-8.
        try folder.write("2_\u{FFFD}.sql", "SELECT 1;".utf8)
        #expect(try folder.migrations().steps.map(\.identifier) == ["1_a", "2_\u{FFFD}"])
    }

    @Test(arguments: ["2_b\n.sql", "2_b\n.SQL"])
    func controlCharacterIsRefusedWhateverTheCaseOfTheEnding(name: String) throws {
        try folder.write("1_a.sql", "SELECT 1;".utf8)
        try folder.write(name, "SELECT 1;".utf8)
        #expect(refusal() == name.replacing("\n", with: " ") + ": not a migration's file name")
    }

    // MARK: - golang-migrate

    /// https://github.com/golang-migrate/migrate/blob/master/source/parse.go
    @Test func aPairIsOfOneVersionWhateverItsNames() throws {
        let pairs = [
            ("1_add_a.up.sql", "1_drop_a.down.sql", "1_add_a"),
            ("2_b..up.sql", "2_b.down.sql", "2_b."),
            ("3_.up.sql", "03_c.down.db.sql", "3_"),
            ("4_d.down.up.sql", "4_d.up.down.sql", "4_d.down"),
        ]
        for (up, down, _) in pairs {
            try folder.write(up, "SELECT 1;".utf8)
            try folder.write(down, "SELECT 2;".utf8)
        }
        let steps = try folder.migrations().steps
        #expect(steps.map(\.identifier) == pairs.map(\.2))
        #expect(steps.allSatisfy { $0.rollback != nil })
    }

    @Test(arguments: ["2_b.up.ddl", "2_b.down.sqlite", "2_b.up.sql.disabled"])
    func aPartWithAnotherEndingIsNotLeftOut(name: String) throws {
        try folder.write("1_a.up.sql", "SELECT 1;".utf8)
        // An editor's copy.
        try folder.write("1_a.up.sql~", "SELECT 1;".utf8)
        #expect(try folder.migrations().steps.count == 1)
        try folder.write(name, "SELECT 1;".utf8)
        #expect(
            refusal() == "\(name): golang-migrate would run this file, which doesn't end in .sql"
        )
    }

    @Test func aPartWithAnotherEndingIsNothingElsewhere() throws {
        try folder.write("1_a.sql", "SELECT 1;".utf8)
        try folder.write("2_b.up.ddl", "SELECT 1;".utf8)
        #expect(try folder.migrations().steps.count == 1)
    }
}
