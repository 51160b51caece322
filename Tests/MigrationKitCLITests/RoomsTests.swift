import Foundation
import Testing

/// The folders of a room use each other in one direction.
@Suite struct RoomsTests {
    private static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    static let rooms: [String] = ["Sources", "Keys"].flatMap { parent in
        let path = root.appending(path: parent).path
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        return names.filter { !$0.hasPrefix("C") }.sorted().map { "\(parent)/\($0)" }
    }

    @Test(arguments: rooms)
    func foldersOfARoomFormNoCircle(_ room: String) throws {
        let circle = try FolderUses(of: Self.root.appending(path: room)).circle
        #expect(circle == nil, "\(room): \(circle?.joined(separator: "; ") ?? "")")
    }

    @Test func aCircleIsFound() throws {
        var files = [
            "Connection/Waiting.swift": "struct Waiting { private let options: Int }",
            "Runner/Run.swift": """
            extension Run { func applied() -> String { "\\(Waiting())" } }
            private struct Step {}
            """,
            "Run.swift": "struct Run {} // Step, Waiting",
        ]
        #expect(FolderUses(of: files).circle == nil)
        files["Run.swift"] = "struct Run { func start() { self.applied() } }"
        #expect(
            FolderUses(of: files).circle == [
                ". uses Runner (Run.swift: applied)", "Runner uses . (Runner/Run.swift: Run)",
            ]
        )
        files["Run.swift"] = nil
        files["Connection/Waiting.swift"] = "struct Waiting { var run: Run }"
        files["Runner/Run.swift"] = #"struct Run { let text = "\(Waiting.self) \\(Step)" }"#
        #expect(
            FolderUses(of: files).circle == [
                "Connection uses Runner (Connection/Waiting.swift: Run)",
                "Runner uses Connection (Runner/Run.swift: Waiting)",
            ]
        )
    }
}
