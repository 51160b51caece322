import Foundation
import TestSupport
import Testing

/// An app that was never launched: a folder and an account of its own, and the probe to launch.
struct LaunchedApp {
    /// What there is between two launches.
    struct State {
        /// The item's secret; `nil` if there is no item.
        let key: String?
        /// The file's size in bytes; `nil` if there is no file.
        let size: Int?
        let isPlaintext: Bool

        var name: String {
            switch (key, size) {
            case (nil, _) where isPlaintext: "plaintext"
            case (_, _) where isPlaintext: "item and plaintext"
            case (nil, nil): "nothing"
            case (nil, _): "a file without an item"
            case (_, nil): "item"
            case (_, 0): "item and empty file"
            default: "item and database"
            }
        }
    }

    let service: PrivateSecretService
    let folder: TemporaryFolder
    let account = UUID().uuidString

    init(_ service: PrivateSecretService) throws {
        self.service = service
        folder = try TemporaryFolder()
    }

    /// How many rows a version of the app that knows no encryption has left.
    static let plaintextRows = 2000

    /// Puts the database of such a version into the place of what is there.
    func makePlaintext() throws {
        for name in try folder.names { unlink(folder.path(name)) }
        _ = try SQLCipherShell.run(
            folder.database,
            key: nil,
            """
            CREATE TABLE launch(n);
            CREATE TABLE note(body);
            WITH RECURSIVE i(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM i LIMIT \(Self.plaintextRows))
            INSERT INTO note SELECT printf('plaintext %d', n) FROM i;
            """
        )
    }

    func start(_ arguments: String...) throws -> ChildProcess {
        try ChildProcess(
            builtExecutable("FirstLaunchProbe"),
            [folder.database, account] + arguments,
            environment: service.environment
        )
    }

    /// How long a first launch takes from each of its points to the next, in seconds.
    func durations() throws -> [String: Double] {
        let process = try start()
        var durations: [String: Double] = [:]
        var last: (point: String, time: ContinuousClock.Instant)?
        while let point = process.readLine() {
            let now = ContinuousClock.now
            if let last { durations[last.point] = (now - last.time) / .seconds(1) }
            last = (point, now)
        }
        #expect(try process.finish().status == 0)
        return durations
    }

    /// Kills a launch from outside, and answers what it left.
    ///
    /// - Parameters:
    ///   - point: The point that the launch told of before.
    ///   - delay: How long after that it is killed, in seconds. The launch may have ended by then;
    ///     then another one is killed earlier, with a new item and a new file.
    func stateAfterKill(at point: String, delay: Double) throws -> State {
        var delay = delay
        while true {
            let process = try start()
            while let line = process.readLine(), line != point {}
            usleep(useconds_t(delay * 1_000_000))
            process.send(SIGKILL)
            let result = try process.finish()
            if result.signal == SIGKILL { return try state() }
            #expect(result.status == 0, "\(result.stderr)")
            try clean()
            for name in try folder.names { unlink(folder.path(name)) }
            delay /= 2
        }
    }

    /// Deletes the item. A keyring gets slower with every item that it holds.
    func clean() throws {
        _ = try service.run("secret-tool", ["clear", "username", account])
    }

    func state() throws -> State {
        let found = try service.run(
            "secret-tool",
            ["lookup", "service", "org.example.FirstLaunch", "username", account]
        )
        let attributes = try? FileManager.default.attributesOfItem(atPath: folder.database)
        return State(
            key: found.status == 0 ? found.stdout : nil,
            size: (attributes?[.size] as? NSNumber)?.intValue,
            isPlaintext: (try? folder.data("notes.db"))?.starts(with: "SQLite format 3".utf8)
                == true
        )
    }

    /// The rows that launches have added, read by another program.
    func rows(key: String) throws -> Int? {
        Int(
            try SQLCipherShell.run(
                folder.database,
                key: "x'\(key)'",
                "SELECT count(*) FROM launch;"
            )
        )
    }

    /// The files, without the record of the key, and without the lock of one that was killed, which is
    /// the next migration's.
    var names: [String] {
        get throws {
            try folder.names.filter {
                !["notes.db-key-record", "notes.db-migration.lock"].contains($0)
            }
        }
    }

    /// The rows of the version that knew no encryption.
    func notes(key: String) throws -> Int? {
        Int(try SQLCipherShell.run(folder.database, key: "x'\(key)'", "SELECT count(*) FROM note;"))
    }

    /// Whether a file in the app's folder, also a hidden one, has a text of the plaintext database.
    func hasPlaintext() throws -> Bool {
        try run("grep", ["-rqa", "plaintext 1", folder.path]).status == 0
    }

    /// Launches once more, and looks whether all is well.
    func expectNextLaunch(goesOnFrom left: State) throws {
        let result = try start().finish()
        #expect(result.status == 0, "after \(left.name): \(result.stderr)")
        #expect(result.stdout.hasSuffix("\ndone\n"))

        let state = try state()
        let key = try #require(state.key)
        #expect(left.key == nil || left.key == key, "the key is another")
        #expect(key.count == 64)
        #expect((try rows(key: key) ?? 0) >= 1)
        let names = try names
        #expect(names == ["notes.db"], "\(names)")
        #expect(folder.mode("notes.db") == 0o600)
    }

    /// Launches once more after encrypting was killed, and looks whether all is well.
    func expectEncrypted(from left: State) throws {
        #expect(left.isPlaintext || left.key != nil, "a file without its key")
        try expectNextLaunch(goesOnFrom: left)
        let key = try #require(try state().key)
        #expect(try notes(key: key) == Self.plaintextRows)
        #expect(try !hasPlaintext())
    }
}
