import Foundation
import TestSupport
import Testing

/// What is answered in one place stays there.
@Suite struct OneOfEachTests {
    private struct Source {
        let name: String
        /// Without comments.
        let code: String
    }

    private static let sources: [Source] = {
        let folder = URL(fileURLWithPath: PackageFolder.path("Sources"))
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        return (files?.allObjects as? [URL] ?? []).filter { $0.pathExtension == "swift" }.map {
            url in
            let lines =
                (try? String(contentsOf: url, encoding: .utf8))?.split(separator: "\n") ?? []
            return Source(
                name: url.deletingPathExtension().lastPathComponent,
                code: lines.filter { !$0.drop(while: \.isWhitespace).hasPrefix("//") }
                    .joined(separator: "\n")
            )
        }
    }()

    private func files(with text: String) -> Set<String> {
        Set(Self.sources.filter { $0.code.contains(text) }.map(\.name))
    }

    /// `KeyTrial` says whether a key opens a file. Who tries several settings has its answer from there.
    @Test func oneTrialSaysWhetherAKeyOpensAFile() throws {
        try #require(Self.sources.count > 400)
        let judging = files(with: "KeyTrial(")
        #expect(judging == ["FileInspection", "KeySearch", "ReportWriter", "SalvageKey"])
        let settings = files(with: "cipher.candidates").union(files(with: "given.candidates"))
            .union(files(with: "flatMap(\\.candidates)"))
        #expect(settings == judging)
        // With one key and one setting: before SQLite opens the file, and of a file that is open already.
        #expect(
            files(with: "DatabaseHeader(decrypting:") == [
                "KeyTrial", "KeyTrial+OtherCipher", "FileInspection", "LockedSource",
            ]
        )
    }

    @Test func oneDecoderReadsCells() {
        #expect(files(with: "struct TreeCell") == ["TreePageView"])
        #expect(files(with: "TreePageView(") == ["TreePage", "TreeWalker"])
    }

    @Test func oneTypeKnowsWhetherAJournalCounts() {
        #expect(files(with: "-mj[") == ["RollbackJournal"])
    }

    /// What a database is opened for is said once, where its options are resolved. One function makes of it how
    /// the file is opened.
    @Test func onePurposeDecidesHowAFileIsOpened() {
        #expect(files(with: "purpose.ofOpening") == ["MigrationDatabaseOpenOptions"])
        #expect(files(with: "purpose.refusesRecovery") == ["Opening"])
        #expect(files(with: "openWriter(options)") == ["MigrationCLIHost"])
        for boolean in ["isForReading", "isForCopying", "opening.isReadOnly ="] {
            #expect(
                files(with: boolean).isSubset(of: [
                    "MigrationDatabaseOpenOptions", "SnapshotSource",
                ])
            )
        }
    }
}
