import Testing

@testable import PowerCuts

/// What the model of the disk says can be lost.
@Suite struct CutDiskTests {
    private static let old: [UInt8] = Array("old".utf8)
    private static let new: [UInt8] = Array("new!".utf8)

    /// A folder with the file 1, "a", and operations on it.
    private func recording(_ kinds: Operation.Kind...) -> Recording {
        var recording = Recording()
        recording.initialEntries = ["a": 1]
        recording.initialContents = [1: Self.old]
        recording.operations = kinds.map { Operation($0) }
        return recording
    }

    /// All states after the last operation.
    private func states(_ recording: Recording, ignoring: Int? = nil) -> Set<[String: [UInt8]]> {
        var disk = CutDisk(recording, ignoring: ignoring)
        disk.move(to: recording.operations.count)
        return Set(disk.losses(randomCount: 50, seed: 1).map { disk.files($0) })
    }

    @Test func writeIsLostUntilItIsSynchronized() {
        let write = Operation.Kind.write(file: 1, offset: 0, bytes: Self.new)
        #expect(states(recording(write)).contains(["a": Self.old]))
        let synchronized = recording(write, .syncFile(file: 1, begin: 1))
        #expect(states(synchronized) == [["a": Self.new]])
        #expect(states(synchronized, ignoring: 1).contains(["a": Self.old]))
    }

    @Test func sizeAndContentAreLostApart() {
        let states = states(recording(.write(file: 1, offset: 3, bytes: [1, 2])))
        #expect(states.contains(["a": Self.old + [0, 0]]))
        #expect(states.contains(["a": Self.old]))
    }

    @Test func writeIsTornBetweenSectors() {
        let bytes = [UInt8](repeating: 7, count: 1024)
        let states = states(recording(.write(file: 1, offset: 0, bytes: bytes)))
        #expect(states.contains(["a": Array(bytes[..<512]) + [UInt8](repeating: 0, count: 512)]))
    }

    @Test func renameMayComeBeforeTheContent() {
        let renamed = recording(
            .create(file: 2, name: "b"),
            .write(file: 2, offset: 0, bytes: Self.new),
            .rename(file: 2, from: "b", to: "a")
        )
        #expect(states(renamed).contains(["a": []]))
        // Old or new: never neither.
        #expect(states(renamed).allSatisfy { $0["a"] != nil })
    }

    @Test func entryIsLostUntilTheFolderIsSynchronized() {
        let create = Operation.Kind.create(file: 2, name: "b")
        let write = Operation.Kind.write(file: 2, offset: 0, bytes: Self.new)
        let file = recording(create, write, .syncFile(file: 2, begin: 2))
        #expect(states(file) == [["a": Self.old], ["a": Self.old, "b": Self.new]])
        let both = recording(create, write, .syncFile(file: 2, begin: 2), .syncFolder(begin: 3))
        #expect(states(both) == [["a": Self.old, "b": Self.new]])
    }

    @Test func synchronizationCoversWhatEndedBeforeItBegan() {
        let states = states(
            recording(
                .write(file: 1, offset: 0, bytes: Self.new),
                .syncFile(file: 1, begin: 0)
            )
        )
        #expect(states.contains(["a": Self.old]))
    }

    /// One thread closes 5, and before strace says so another has opened the folder as 5.
    @Test func descriptorThatAnotherThreadGotAgainIsTheNewOne() throws {
        func hex(_ text: String) -> String {
            "\"" + text.utf8.map { #"\x"# + String($0, radix: 16) }.joined() + "\""
        }
        let folder = hex("/disk")
        let trace = """
            1 openat(AT_FDCWD, \(hex("/disk/a")), O_RDWR) = 5
            1 close(5 <unfinished ...>
            2 openat(AT_FDCWD, \(folder), O_RDONLY|O_DIRECTORY) = 5
            1 <... close resumed>) = 0
            2 fsync(5) = 0
            2 close(5) = 0
            2 fsync(5) = 0
            """
        let recording = try Recording(
            trace: Array(trace.utf8),
            syncTrace: nil,
            before: ["a": Self.old],
            root: "/disk",
            keys: ("/keys", [])
        )
        #expect(recording.operations.count == 1)
        guard case .syncFolder = recording.operations.first?.kind else {
            Issue.record("\(recording.operations)")
            return
        }
    }

    @Test func ignoredSynchronizationLosesWhatItCoversAndKeepsTheRest() {
        let recording = recording(
            .write(file: 1, offset: 0, bytes: Self.new),
            .syncFile(file: 1, begin: 1),
            .create(file: 2, name: "b"),
            .write(file: 1, offset: 0, bytes: Array("more".utf8)),
            .syncFile(file: 1, begin: 4)
        )
        var disk = CutDisk(recording, ignoring: 1)
        #expect(disk.uncovered == [0])
        disk.move(to: 3)
        let losses = disk.lossesOfUncovered(randomCount: 0, seed: 1)
        #expect(losses.contains(.uncovered))
        #expect(disk.files(.uncovered) == ["a": Self.old, "b": []])
        // The size came with the content.
        let filled = Self.old + [0xa5]
        #expect(disk.files(.uncoveredContent(filler: 0xa5)) == ["a": filled, "b": []])
        // The later one covers the same.
        disk.move(to: 5)
        #expect(!disk.hasPendingUncovered)
        #expect(disk.lossesOfUncovered(randomCount: 4, seed: 1).isEmpty)
    }

    @Test func synchronizationThatAnotherPrecedesCoversNothing() {
        let recording = recording(
            .write(file: 1, offset: 0, bytes: Self.new),
            .syncFile(file: 1, begin: 1),
            .syncFile(file: 1, begin: 2)
        )
        #expect(CutDisk(recording, ignoring: 2).uncovered.isEmpty)
        #expect(CutDisk(recording).uncovered.isEmpty)
    }

    @Test func sameSeedMakesTheSameStates() {
        let recording = recording(
            .write(file: 1, offset: 0, bytes: [UInt8](repeating: 1, count: 4096)),
            .write(file: 1, offset: 4096, bytes: [UInt8](repeating: 2, count: 4096))
        )
        func made(_ seed: UInt64) -> [[String: [UInt8]]] {
            var disk = CutDisk(recording)
            disk.move(to: 2)
            return disk.losses(randomCount: 20, seed: seed).map { disk.files($0) }
        }
        #expect(made(3) == made(3))
        #expect(made(3) != made(4))
    }
}
