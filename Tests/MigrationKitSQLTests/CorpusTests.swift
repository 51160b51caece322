import Foundation
import MigrationKitSQL
import TestSupport
import Testing

/// Every file that the fuzzer has found worth keeping, read as every file of every format. See
/// `Scripts/fuzz`.
@Suite struct CorpusTests {
    private static let folder = PackageFolder.path("Tests/MigrationKitSQLTests/Corpus")

    private static func corpus() throws -> [(name: String, bytes: [UInt8])] {
        try FileManager.default.contentsOfDirectory(atPath: folder).sorted().map { name in
            (name, Array(try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)"))))
        }
    }

    /// A name that a file can have, and that of what stands beside it to make a migration.
    struct Place: CustomTestStringConvertible, Sendable {
        let file: String
        var beside: String?
        var testDescription: String { file }
    }

    @Test(arguments: [
        Place(file: "1_a.sql"), Place(file: "1_a.up.sql"),
        Place(file: "1_a.down.sql", beside: "1_a.up.sql"), Place(file: "1_a/up.sql"),
        Place(file: "1_a/down.sql", beside: "1_a/up.sql"),
        Place(file: "1_a/metadata.toml", beside: "1_a/up.sql"), Place(file: "V1__a.sql"),
        Place(file: "U1__a.sql", beside: "V1__a.sql"),
    ])
    func everyFileIsAFolderOrAnError(place: Place) throws {
        let corpus = try Self.corpus()
        #expect(corpus.count > 100)
        let folder = try TemporaryFolder()
        if place.file.contains("/") { try folder.makeFolder("1_a") }
        if let beside = place.beside { try folder.write(beside, "SELECT 1;".utf8) }
        var accepted = 0
        for (name, bytes) in corpus {
            try folder.write(place.file, bytes)
            do {
                #expect(try folder.migrations().steps.count == 1, "\(name)")
                accepted += 1
            } catch let error as MigrationFolderError {
                let first = try #require(error.errorDescription)
                #expect(first.unicodeScalars.allSatisfy { $0.value >= 0x20 }, "\(name)")
                #expect(error.recoverySuggestion?.isEmpty == false, "\(name)")
            }
        }
        // Both happen, or the corpus says nothing.
        #expect(accepted > 0 && accepted < corpus.count)
    }

    @Test func nothingIsLostAndSQLiteSeesTheSameStatements() throws {
        let everyFormat = EveryFormat()
        for (name, bytes) in try Self.corpus() {
            #expect(everyFormat.brokenPromise(for: bytes) == nil, "\(name)")
        }
    }
}
