import Dispatch
import Foundation
import Synchronization
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
            ("fileIsEmpty", true, 0), ("fileHasItsFirstPage", true, 4096),
            ("storeIsOpen", true, 4096),
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

    /// 200 kills: 25 on the way from each of eight points to the next.
    @Test func aLaunchThatIsKilledAtAnyMomentIsGoneOnWith() async throws {
        let points = [
            "ready", "beforeStoring", "afterStoring", "beforeReadingBack", "afterReadingBack",
            "fileIsEmpty", "fileHasItsFirstPage", "storeIsOpen",
        ]
        let kills = points.flatMap { point in (0..<25).map { (point, Double($0) / 25) } }
        let next = Atomic(0)
        let states = try await onThreads(2) {
            let service = try PrivateSecretService()
            let measured = try (0..<5).map { _ in try LaunchedApp(service).durations() }
            var states: [String] = []
            while true {
                let index = next.add(1, ordering: .relaxed).oldValue
                guard index < kills.count else { return states }
                let (point, fraction) = kills[index]
                var delay = measured.compactMap { $0[point] }.sorted()[2] * fraction
                while true {
                    let app = try LaunchedApp(service)
                    defer { try? app.clean() }
                    if let left = try app.stateAfterKill(at: point, delay: delay) {
                        #expect(left.size ?? 0 == 0 || left.key != nil, "a file without its key")
                        try app.expectNextLaunch(goesOnFrom: left)
                        states.append(left.name)
                        break
                    }
                    // A launch that was over before is no kill.
                    delay /= 2
                }
            }
        }
        #expect(states.joined().count == 200)
        let met = Set(states.joined())
        #expect(met.isSuperset(of: ["nothing", "item", "item and database"]), "\(met)")
    }

    // MARK: - Several at once

    @Test func launchesAtTheSameMomentEndWithOneKeyAndOneFile() throws {
        for count in [2, 8, 8, 8] {
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
            #expect(try app.folder.names == ["notes.db"])
            let found = try service.run(
                "secret-tool",
                ["search", "--all", "username", app.account]
            )
            #expect((found.stdout + found.stderr).components(separatedBy: "secret = ").count == 2)
        }
    }

    // MARK: -

    /// Runs a closure on threads of its own, away from those that run tasks.
    private func onThreads<Value: Sendable>(
        _ count: Int,
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> [Value] {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                let results = Mutex<[Result<Value, any Error>]>([])
                DispatchQueue.concurrentPerform(iterations: count) { _ in
                    let result = Result { try body() }
                    results.withLock { $0.append(result) }
                }
                continuation.resume(
                    with: Result { try results.withLock { $0 }.map { try $0.get() } }
                )
            }
        }
    }
}
