import Foundation
import MigrationKitSQL
import TestSupport
import Testing

/// The files of a new migration.
@Suite struct CreateTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// 2024-03-05 06:07:08 in UTC.
    private static let now = Date(timeIntervalSince1970: 1_709_618_828)

    private func create(
        _ name: String,
        format: MigrationFormat? = nil,
        numbering: MigrationNumbering = .asLatest
    ) throws -> [String] {
        let created = try MigrationFolder.create(
            name,
            in: folder.path,
            format: format,
            numbering: numbering,
            now: Self.now
        )
        return created.files.map { String($0.dropFirst(folder.path.count + 1)) }
    }

    @Test(arguments: [
        (["0001_a.sql", "0009_b.sql"], ["0010_add_tags.sql"]),
        (["1_a.sql", "9_b.sql", "10_c.sql"], ["11_add_tags.sql"]),
        (["99_a.sql"], ["100_add_tags.sql"]),
        (["20240101000000_a.sql"], ["20240305060708_add_tags.sql"]),
        (["20990101000000_a.sql"], ["20990101000001_add_tags.sql"]),
        (["0001_a.up.sql"], ["0002_add_tags.up.sql", "0002_add_tags.down.sql"]),
        (["0001-a.sql", "0002-2fa.sql"], ["0003_add_tags.sql"]),
        (["V1__a.sql", "V2.1__b.sql"], ["V3__add_tags.sql"]),
        (["V1__a.sql", "U1__a.sql"], ["V2__add_tags.sql", "U2__add_tags.sql"]),
        (
            ["2024-01-01-000000_a/up.sql"],
            ["2024-03-05-060708_add_tags/up.sql", "2024-03-05-060708_add_tags/down.sql"]
        ),
        (
            ["00000000000000_diesel_initial_setup/up.sql"],
            ["20240305060708_add_tags/up.sql", "20240305060708_add_tags/down.sql"]
        ),
    ])
    func newMigrationIsNumberedAndLaidOutAsTheLatestIs(
        _ existing: [String],
        _ expected: [String]
    ) throws {
        for path in existing {
            if let slash = path.firstIndex(of: "/") {
                try folder.makeFolder(String(path[..<slash]))
            }
            try folder.write(path, "CREATE TABLE \"\(path)\" (id);".utf8)
        }
        #expect(try create("add tags") == expected)
        // With SQL in it, the folder is as good as before, with the new one as its last.
        try folder.write(expected[0], "CREATE TABLE t (id);".utf8)
        let steps = try folder.migrations().steps
        #expect(steps.last?.sourceFile == expected[0])
    }

    @Test(arguments: [
        (MigrationFormat.dbmate, "0001_a.sql", "-- migrate:up\n"),
        (.goose, "0001_a.sql", "-- +goose Up\n"),
        (.upOnly, "0001_a.sql", "-- "),
        (.pairs, "0001_a.up.sql", "-- "),
        (.flyway, "V0001__a.sql", "-- "),
        (.diesel, "2024-03-05-060708_a/up.sql", "-- "),
    ])
    func firstMigrationHasTheFormThatIsAskedFor(
        _ format: MigrationFormat,
        _ file: String,
        _ beginning: String
    ) throws {
        let files = try create("a", format: format)
        #expect(files.first == file)
        let text = String(decoding: try folder.data(file), as: UTF8.self)
        #expect(text.hasPrefix(beginning))
        // Nothing runs before somebody has written what.
        let migrations = try folder.migrations()
        #expect(migrations.drafts == migrations.steps.map(\.identifier))
        #expect(migrations.notes.isEmpty)
        let database = try MigrationDatabase()
        for attempt in [
            { try migrations.checkForDrafts(in: migrations.drafts) },
            { try database.apply(migrations.steps[0]) },
        ] {
            let error = #expect(throws: MigrationFolderError.self) { try attempt() }
            guard case .emptyUpPart(let place) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(place.file == file)
        }
        try migrations.checkForDrafts(in: ["0001_another"])
    }

    @Test(arguments: MigrationFormat.allCases)
    func draftIsKnownByItsTemplate(_ format: MigrationFormat) throws {
        let file = try #require(try create("a", format: format).first)
        let text = String(decoding: try folder.data(file), as: UTF8.self)
        for (written, isDraft) in [
            (text.trimmingCharacters(in: .whitespacesAndNewlines), true),
            (text.replacing("\n", with: "\r\n"), true),
            (text + "-- Nothing to do.\n", false),
        ] {
            try folder.write(file, written.utf8)
            let migrations = try folder.migrations()
            #expect(migrations.drafts.isEmpty == !isDraft, "\(written)")
            #expect(migrations.notes.isEmpty == isDraft, "\(written)")
        }
    }

    @Test(arguments: [("9_b", "90_c"), ("99_b", "990_c"), ("0009_b", "0010_c")])
    func dieselsNextNumberComesBehindTheOthersAsText(_ last: String, _ next: String) throws {
        try folder.makeFolder(last)
        try folder.write("\(last)/up.sql", "SELECT 1;".utf8)
        #expect(try create("c") == ["\(next)/up.sql", "\(next)/down.sql"])
        #expect(try folder.migrations().steps.map(\.identifier) == [last, next])
    }

    @Test func severalCanBeCreatedBeforeOneIsWritten() throws {
        #expect(try create("a") == ["0001_a.sql"])
        #expect(try create("b") == ["0002_b.sql"])
        #expect(try create("c", numbering: .timestamp) == ["20240305060708_c.sql"])
        #expect(try create("d") == ["20240305060709_d.sql"])
    }

    @Test(arguments: ["", "  ", "a/b", "../a", ".a", "a\nb", "a'b", "sign.up"])
    func nameThatIsNoFilesIsRefused(_ name: String) throws {
        #expect(throws: MigrationCreationError.unusableName(name)) { try create(name) }
        #expect(try folder.names.isEmpty)
    }

    @Test func otherFormThanTheFoldersIsRefused() throws {
        #expect(try create("a") == ["0001_a.sql"])
        #expect(
            throws: MigrationCreationError.otherFormat(.goose, .dbmate, file: "0001_a.sql")
        ) { try create("b", format: .goose) }
    }

    @Test func manyAtOnceGetANumberEach() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...8 {
                group.addTask {
                    _ = try MigrationFolder.create("m\(number)", in: folder.path)
                }
            }
            try await group.waitForAll()
        }
        let numbers = try folder.names.map { $0.prefix(4) }
        #expect(numbers.sorted() == (1...8).map { "000\($0)" })
    }

    @Test func folderThatIsNotThereIsMade() throws {
        let path = folder.path("new/migrations")
        let files = try MigrationFolder.create("a", in: path).files
        #expect(files == ["\(path)/0001_a.sql"])
    }

    @Test func whatIsInTheWayIsLeftAlone() throws {
        try folder.write("file", "kept".utf8)
        #expect(throws: MigrationFolderError.notAFolder(path: folder.path("file"))) {
            try MigrationFolder.create("a", in: folder.path("file"))
        }
        #expect(throws: MigrationCreationError.self) {
            try MigrationFolder.create("a", in: folder.path("file/under"))
        }
        #expect(try folder.data("file") == Data("kept".utf8))
    }
}
