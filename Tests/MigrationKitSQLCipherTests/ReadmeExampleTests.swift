import Foundation
import Testing

/// The README's example is the file that the target `ReadmeExample` compiles, with
/// `MemberImportVisibility`.
@Suite struct ReadmeExampleTests {
    private static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private func text(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
    }

    /// The Swift blocks of the README's chapter on the library.
    private func blocks() throws -> [String] {
        let chapter = try #require(
            text("README.md").components(separatedBy: "## The library by example\n").last
        )
        return chapter.components(separatedBy: "```swift\n").dropFirst()
            .compactMap { $0.components(separatedBy: "```").first }
    }

    private func indented(_ text: some StringProtocol) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.isEmpty ? "" : "    \($0)" }.joined(separator: "\n")
    }

    @Test func exampleIsTheOneThatIsCompiled() throws {
        let example = try #require(try blocks().first)
        let parts = try #require(example.range(of: "\n\n"))
        let imports = example[..<parts.lowerBound]
        let body = example[parts.upperBound...]
        let lastLines = body.split(separator: "\n").suffix(2).joined(separator: "\n") + "\n"
        let asyncBody = body.replacingOccurrences(of: lastLines, with: try blocks()[1])
        #expect(asyncBody != body)

        let compiled = try text("Tests/ReadmeExample/ReadmeExample.swift")
        #expect(compiled.hasPrefix(imports + "\n\n"))
        #expect(
            compiled.components(separatedBy: indented(body) + "    return database\n").count == 3
        )
        #expect(
            compiled.components(separatedBy: indented(asyncBody) + "    return database\n").count
                == 2
        )
    }
}
