import Foundation
import TestSupport
import Testing

/// First launches of a real app with a real Secret Service, killed and in crowds.
@Suite struct FirstLaunchTests {
    private let service: PrivateSecretService

    init() throws {
        service = try PrivateSecretService()
    }

    // MARK: - Killed

    /// What a launch that is killed at a point has left.
    @Test(
        arguments: [
            ("beforeLookUp", false, nil), ("afterLookUp", false, nil),
            ("beforeStoring", false, nil), ("afterStoring", true, nil),
            ("beforeReadingBack", true, nil), ("afterReadingBack", true, nil),
            ("fileIsEmpty", true, 0), ("storeIsOpen", true, 4096),
        ] as [(String, Bool, Int?)]
    )
    func aLaunchThatIsKilledIsGoneOnWith(point: String, keepsItem: Bool, size: Int?) throws {
        let app = try LaunchedApp(service)
        let killed = try app.start(point).finish()
        #expect(killed.signal == SIGKILL, "\(killed.stderr)")
        let left = try app.state()
        #expect((left.key != nil) == keepsItem)
        #expect(left.size == size)

        try app.expectNextLaunch(goesOnFrom: left)
    }

    /// On the way from each of seven points to the next, in two halves.
    @Test(arguments: [0, 1])
    func aLaunchThatIsKilledAtAnyMomentIsGoneOnWith(half: Int) throws {
        let points = [
            "ready", "beforeStoring", "afterStoring", "beforeReadingBack", "afterReadingBack",
            "fileIsEmpty", "storeIsOpen",
        ]
        let measured = try (0..<5).map { _ in try LaunchedApp(service).durations() }
        let parts = Samples.count(10)
        var met: Set<String> = []
        for point in points {
            let duration = try #require(
                measured.compactMap { $0[point] }.sorted().dropFirst(2).first
            )
            for part in stride(from: half, to: parts, by: 2) {
                let app = try LaunchedApp(service)
                defer { try? app.clean() }
                let left = try app.stateAfterKill(
                    at: point,
                    delay: duration * Double(part) / Double(parts)
                )
                #expect(left.size ?? 0 == 0 || left.key != nil, "a file without its key")
                try app.expectNextLaunch(goesOnFrom: left)
                met.insert(left.name)
            }
        }
        // The kills were spread: they met every state that lasts for more than an instant.
        #expect(met.isSuperset(of: ["nothing", "item", "item and database"]), "\(met)")
    }

    // MARK: - Several at once

    @Test func launchesAtTheSameMomentEndWithOneKeyAndOneFile() throws {
        for count in [2, 8] {
            let app = try LaunchedApp(service)
            let processes = try (0..<count).map { _ in try app.start("--wait") }
            for process in processes { #expect(process.readLine() == "ready") }
            for process in processes { process.write("\n".utf8) }
            for process in processes {
                let result = try process.finish()
                #expect(result.status == 0, "\(result)")
            }
            let state = try app.state()
            #expect(try app.rows(key: #require(state.key)) == count)
            #expect(try app.names == ["notes.db"])
            let found = try service.run(
                "secret-tool",
                ["search", "--all", "username", app.account]
            )
            #expect((found.stdout + found.stderr).components(separatedBy: "secret = ").count == 2)
        }
    }

    // MARK: - From plaintext

    @Test(
        arguments: [
            ("beforeLookUp", false), ("afterLookUp", false), ("beforeStoring", false),
            ("afterStoring", true), ("beforeReadingBack", true), ("afterReadingBack", true),
        ]
    )
    func encryptingThatIsKilledIsGoneOnWith(point: String, keepsItem: Bool) throws {
        let app = try LaunchedApp(service)
        try app.makePlaintext()
        #expect(try app.start(point).finish().signal == SIGKILL)
        let left = try app.state()
        #expect(left.isPlaintext && (left.key != nil) == keepsItem, "\(left.name)")
        try app.expectEncrypted(from: left)
    }

    /// From the first moment to the last, in two halves.
    @Test(arguments: [0, 1])
    func encryptingThatIsKilledAtAnyMomentIsGoneOnWith(half: Int) throws {
        var met: Set<String> = []
        let parts = Samples.count(10)
        let app = try LaunchedApp(service)
        try app.makePlaintext()
        let start = ContinuousClock.now
        #expect(try app.start().finish().status == 0)
        let duration = (ContinuousClock.now - start) / .seconds(1)
        for part in stride(from: half, to: parts, by: 2) {
            let app = try LaunchedApp(service)
            defer { try? app.clean() }
            try app.makePlaintext()
            let process = try app.start()
            usleep(useconds_t(duration * Double(part) / Double(parts) * 1_000_000))
            process.send(SIGKILL)
            _ = try process.finish()
            let left = try app.state()
            met.insert(left.name)
            try app.expectEncrypted(from: left)
        }
        #expect(met.contains("plaintext"), "\(met)")
    }

    @Test func launchesAtTheSameMomentEncryptOnce() throws {
        for count in [3, 6] {
            let app = try LaunchedApp(service)
            defer { try? app.clean() }
            try app.makePlaintext()
            let processes = try (0..<count).map { _ in try app.start("--wait") }
            for process in processes { #expect(process.readLine() == "ready") }
            for process in processes { process.write("\n".utf8) }
            for process in processes {
                let result = try process.finish()
                #expect(result.status == 0, "\(result)")
            }
            let key = try #require(try app.state().key)
            #expect(try app.rows(key: key) == count)
            #expect(try app.notes(key: key) == LaunchedApp.plaintextRows)
            #expect(try app.names == ["notes.db"])
        }
    }
}
