import Foundation
import TestSupport
import Testing

/// Everything that the commands print, for people and for programs, in scenes as they come in a
/// database's life. Every JSON document in them follows the schema.
@Suite struct OutputSnapshotTests {
    /// Commands that follow each other.
    struct Scene: CustomTestStringConvertible, Sendable {
        let name: String
        let play: @Sendable (inout Transcript) throws -> Void

        init(_ name: String, _ play: @escaping @Sendable (inout Transcript) throws -> Void) {
            self.name = name
            self.play = play
        }

        var testDescription: String { name }
    }

    static let scenes =
        forwardScenes + backwardScenes + folderScenes + fileScenes
        + salvageScenes + refusedScenes + fleetScenes

    @Test(arguments: scenes)
    func printsWhatItDid(_ scene: Scene) throws {
        // In damaged files, an older SQLCipher finds other words.
        if ["salvage", "verify-full-damaged"].contains(scene.name), try Tool.hasOldEngine {
            try Test.cancel("needs SQLCipher 4.14 or later")
        }
        try play(scene, Transcript())
    }

    @Test(arguments: keyScenes)
    func printsWhatItDidWithKeys(_ scene: Scene) throws {
        try play(scene, Transcript(secrets: PrivateSecretService()))
    }

    private func play(_ scene: Scene, _ transcript: Transcript) throws {
        var transcript = transcript
        try scene.play(&transcript)
        #expect(try DocumentSchema.complaints(about: transcript.documents) == "")
        try expectSnapshot(
            transcript.text,
            at: "\(DocumentSchema.outputSnapshots)/\(scene.name).txt"
        )
    }

    /// A snapshot that nothing compares would be taken for a promise.
    @Test func everySnapshotIsCompared() throws {
        let files = try FileManager.default.contentsOfDirectory(
            atPath: PackageFolder.path(DocumentSchema.outputSnapshots)
        )
        #expect(files.sorted() == (Self.scenes + Self.keyScenes).map { "\($0.name).txt" }.sorted())
    }
}
