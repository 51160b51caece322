import Foundation
import TestSupport
import Testing

/// Every row of the tables of refused and handled input in the documentation of MigrationKitSQL,
/// with all that the tool prints.
@Suite struct RefusalTests {
    @Test(arguments: refusedFolders + refusedTexts + refusedMarkers + refusedStatements)
    func refusedBeforeAnythingIsOpened(_ refusal: RefusalCase) throws {
        let tool = try Tool(isRawKey: true)
        try expect(refusal, of: tool)
        #expect(!FileManager.default.fileExists(atPath: tool.database))
    }

    @Test(arguments: refusedWhileRunning)
    func refusedBySQLiteWhileAStepRuns(_ refusal: RefusalCase) throws {
        let tool = try Tool(isRawKey: true)
        try expect(refusal, of: tool)
        #expect(try tool.shell("SELECT count(*) FROM grdb_migrations;") == "0")
    }

    @Test(arguments: handled)
    func handledAndApplied(_ handled: RefusalCase) throws {
        try expect(handled, of: Tool(isRawKey: true))
    }

    private func expect(_ refusal: RefusalCase, of tool: Tool) throws {
        try expectSnapshot(
            refusal.transcript(of: tool),
            at: "Tests/EndToEndTests/Snapshots/Refusals/\(refusal.name).txt"
        )
    }

    /// A snapshot that nothing compares would be taken for a promise.
    @Test func everySnapshotIsCompared() throws {
        let folder = PackageFolder.path("Tests/EndToEndTests/Snapshots/Refusals")
        let cases =
            Self.refusedFolders + Self.refusedTexts + Self.refusedMarkers + Self.refusedStatements
            + Self.refusedWhileRunning + Self.handled
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
                == cases.map { "\($0.name).txt" }.sorted()
        )
    }

    /// The documentation's table has a row for every error that there is, and none beside them.
    @Test func theTableNamesEveryError() throws {
        func text(_ path: String) throws -> String {
            try String(contentsOfFile: PackageFolder.path(path), encoding: .utf8)
        }
        let folder = "Sources/MigrationKitSQL"
        let errors = try text("\(folder)/MigrationFolderError.swift")
            .matches(of: /\n    case (\w+)\(/).map { String($0.1) }
        let table = try text("\(folder)/MigrationKitSQL.docc/MigrationKitSQL.md")
            .matches(of: /``MigrationFolderError\/(\w+)\(/).map { String($0.1) }
        #expect(errors.count > 20)
        #expect(errors.sorted() == table.sorted())
    }
}
