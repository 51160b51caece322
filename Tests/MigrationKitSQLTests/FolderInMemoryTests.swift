import Foundation
import TestSupport
import Testing

import MigrationKit
@testable import MigrationKitSQL

/// A folder that isn't on disk, such as one in git's history, is read as one on disk is.
@Suite struct FolderInMemoryTests {
    private static let fixtures = PackageFolder.path("Tests/MigrationKitSQLTests/Fixtures")

    private static let folders: [String] = {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: fixtures)) ?? []
        return names.filter { !$0.hasPrefix(".") }.sorted()
    }()

    private func contents(of path: String) throws -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        let names = try FileManager.default.subpathsOfDirectory(atPath: path)
        for name in names {
            var isFolder: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: "\(path)/\(name)", isDirectory: &isFolder)
            guard !isFolder.boolValue else { continue }
            files[name] = [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(path)/\(name)")))
        }
        return files
    }

    @Test func itHasTheSameMigrations() throws {
        var count = 0
        for name in Self.folders {
            let path = "\(Self.fixtures)/\(name)"
            let files = try contents(of: path)
            let expected = Result { try MigrationFolder(path: path) }
            let read = Result { try MigrationFolder(path: path, files: files) }
            switch (expected, read) {
            case (.success(let expected), .success(let read)):
                count += 1
                #expect(read.format == expected.format)
                #expect(read.scripts == expected.scripts)
                #expect(read.steps.map(\.identifier) == expected.steps.map(\.identifier))
                #expect(read.steps.map(\.checksum) == expected.steps.map(\.checksum))
                #expect(read.steps.map(\.usesTransaction) == expected.steps.map(\.usesTransaction))
            case (.failure(let expected), .failure(let read)):
                #expect("\(read)" == "\(expected)")
            default:
                Issue.record("\(name): \(expected), \(read)")
            }
        }
        #expect(count > 3)
    }

    @Test func errorsAreTheSame() throws {
        #expect(throws: MigrationFolderError.empty(path: "x")) {
            try MigrationFolder(path: "x", files: [:])
        }
        #expect(throws: MigrationFolderError.unexpectedName(file: "a.sql")) {
            try MigrationFolder(path: "x", files: ["a.sql": []])
        }
        #expect(throws: MigrationFolderError.unexpectedName(file: "1_a/other.sql")) {
            try MigrationFolder(path: "x", files: ["1_a/up.sql": [], "1_a/other.sql": []])
        }
    }

    // MARK: - Refused Statements

    @Test func allRefusedStatementsAreFound() throws {
        let folder = try TemporaryFolder()
        try folder.write("1_a.up.sql", "CREATE TABLE a (b);\n VACUUM;\n".utf8)
        try folder.write("1_a.down.sql", "DROP TABLE a; COMMIT;".utf8)
        try folder.write("2_b.up.sql", "ATTACH 'x' AS \"key\";\nATTACH 'x' AS k KEY 'y'".utf8)
        try folder.write("3_c.up.sql", "SELECT 1;".utf8)
        let refusals = try MigrationFolder.refusals(in: folder.path)
        #expect(
            refusals.map { "\($0.identifier) \($0.place) \($0.statement) \($0.givesKey)" } == [
                "1_a 1_a.up.sql:2:2 vacuum false",
                "1_a 1_a.down.sql:1:15 transactionControl false",
                "2_b 2_b.up.sql:1:1 attachment false", "2_b 2_b.up.sql:2:1 attachment true",
            ]
        )
        // The first of them is the error of the folder.
        let error = #expect(throws: MigrationFolderError.self) {
            try MigrationFolder(path: folder.path)
        }
        #expect(error?.place == refusals.first?.place)
    }
}
