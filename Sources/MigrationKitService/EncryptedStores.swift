import GRDB
import MigrationKitKeys
import MigrationKit
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitSQLCipher
import ServiceLifecycle

/// The stores of many tenants, users or devices: each has a file and a key of its own, and is opened
/// and migrated when it is first used.
///
/// ```swift
/// let stores = EncryptedStores(folder: "/var/lib/notes", keys: keys, runner: runner)
/// let count = try await stores.withStore(tenant) { database in
///     try await database.read { try Note.fetchCount($0) }
/// }
/// ```
///
/// - Callers that ask for the same store at the same time share one opening. A cancelled caller
///   leaves; if it was the last one, the opening is cancelled, and its migration undone.
/// - At most ``Options/maximumOpen`` stores are open. For another one, the store that was unused for
///   longest is closed. A store in use is never closed; if all are, callers wait in order.
/// - A store that can't be opened or migrated is an error for those who wait for it. The next caller
///   tries again.
/// - Opening, migrating and closing have threads of their own, and never block Swift's tasks.
///
/// As a service, it closes every store at the shutdown. In a `ServiceGroup` it comes before the
/// services that use it. A graceful shutdown of the caller, such as a server, ends its wait for an
/// opening, so a shutdown doesn't wait for a long migration. Work on open stores finishes.
public actor EncryptedStores: Service {
    private enum Slot {
        case opening(Opening)
        case open(any DatabaseWriter, users: Int, lastUse: Int)
    }

    /// One opening, and who waits for it.
    private final class Opening {
        var waiters: [Int: CheckedContinuation<any DatabaseWriter, any Error>] = [:]
        var task: Task<Void, Never>?
        /// Whether all callers have left, and the task was cancelled.
        var isAbandoned = false
    }

    private let opener: StoreOpener
    private let maximumOpen: Int
    private var slots: [String: Slot] = [:]
    /// Those who wait until a store can be closed for theirs, in order.
    private var queue: [(number: Int, continuation: CheckedContinuation<Void, any Error>)] = []
    /// How many stores are being closed, not counting those that are closed for another one.
    private var closingCount = 0
    private var isShutDown = false
    private var drained: [CheckedContinuation<Void, Never>] = []
    /// Numbers uses and waiters.
    private var counter = 0

    /// Creates stores in one folder, in a file `NAME.db` each.
    ///
    /// - Parameters:
    ///   - folder: The folder. It must exist.
    ///   - keys: The stores' keys.
    ///   - runner: The migrations of every store.
    ///   - options: How stores are opened and migrated, and how many are open.
    public init(
        folder: String,
        keys: any StoreKeys,
        runner: GRDBMigrationRunner,
        options: Options = Options()
    ) {
        self.init(keys: keys, runner: runner, options: options) { name in
            try StoreOpener.path(of: name, in: folder)
        }
    }

    /// Creates stores at any path.
    ///
    /// - Parameters:
    ///   - keys: The stores' keys.
    ///   - runner: The migrations of every store.
    ///   - options: How stores are opened and migrated, and how many are open.
    ///   - path: The path of a store's file. Names may come from outside: check them.
    public init(
        keys: any StoreKeys,
        runner: GRDBMigrationRunner,
        options: Options = Options(),
        path: @escaping @Sendable (_ name: String) throws -> String
    ) {
        opener = StoreOpener(path: path, keys: keys, runner: runner, options: options)
        maximumOpen = max(1, options.maximumOpen)
    }

    /// Opens and migrates a store if it isn't open, and uses it.
    ///
    /// - Parameters:
    ///   - name: The store's name.
    ///   - body: Uses the store, which stays open until the closure returns. Don't keep it, and don't
    ///     ask for another store inside: with all stores in use, both would wait.
    /// - Returns: What the closure returns.
    /// - Throws: ``MigrationServiceError``; what `StoreKeys`, `EncryptedStore` and the runner throw; a
    ///   `CancellationError`; what the closure throws.
    public func withStore<Value: Sendable>(
        _ name: String,
        _ body: @Sendable (any DatabaseWriter) async throws -> Value
    ) async throws -> Value {
        let writer = try await acquire(name)
        defer { release(name) }
        return try await body(writer)
    }

    /// The names of the stores that are open now, in no order.
    public var openStores: [String] {
        slots.compactMap { name, slot in
            if case .open = slot { name } else { nil }
        }
    }

    /// How many callers wait until a store can be closed for theirs.
    package var waitingCount: Int { queue.count }

    /// How many callers wait for the opening of a store.
    package func waiterCount(of name: String) -> Int {
        guard case .opening(let opening) = slots[name] else { return 0 }
        return opening.waiters.count
    }

    // MARK: - Acquiring

    private func acquire(_ name: String) async throws -> any DatabaseWriter {
        var wasWoken = false
        while true {
            do {
                try Task.checkCancellation()
                guard !isShutDown else { throw MigrationServiceError.storesStopped }
            } catch {
                if wasWoken { wakeNext() }
                throw error
            }
            switch slots[name] {
            case .open(let writer, let users, _):
                slots[name] = .open(writer, users: users + 1, lastUse: next())
                if wasWoken { wakeNext() }
                return writer
            case .opening(let opening):
                if wasWoken { wakeNext() }
                return try await wait(for: opening, of: name)
            case nil:
                guard wasWoken || queue.isEmpty, hasRoom else {
                    try await waitForRoom(atFront: wasWoken)
                    wasWoken = true
                    continue
                }
                let opening = Opening()
                let closed = makeRoom()
                slots[name] = .opening(opening)
                start(opening, of: name, closing: closed)
                return try await wait(for: opening, of: name)
            }
        }
    }

    private func release(_ name: String) {
        guard case .open(let writer, let users, _) = slots[name] else { return }
        slots[name] = .open(writer, users: users - 1, lastUse: next())
        guard users == 1 else { return }
        if isShutDown { retire(name) } else { wakeNext() }
    }

    private func next() -> Int {
        counter += 1
        return counter
    }

    // MARK: - Opening

    /// - Parameter writer: The store that is closed first, whose place this one takes.
    private func start(
        _ opening: Opening,
        of name: String,
        closing writer: (any DatabaseWriter)?
    ) {
        opening.isAbandoned = false
        opening.task = Task { [opener] in
            await writer?.asyncClose()
            let result: Result<any DatabaseWriter, any Error>
            do {
                result = .success(try await opener.open(name))
            } catch {
                result = .failure(error)
            }
            finish(opening, of: name, result)
        }
    }

    private func finish(
        _ opening: Opening,
        of name: String,
        _ result: Result<any DatabaseWriter, any Error>
    ) {
        let waiters = opening.waiters
        if case .failure = result, opening.isAbandoned, !waiters.isEmpty {
            // They came after all others had left.
            return start(opening, of: name, closing: nil)
        }
        opening.waiters = [:]
        switch result {
        case .success(let writer):
            slots[name] = .open(writer, users: waiters.count, lastUse: next())
            if isShutDown, waiters.isEmpty { retire(name) }
        case .failure:
            slots[name] = nil
        }
        noteOpenStores()
        waiters.values.forEach { $0.resume(with: result) }
        if waiters.isEmpty || slots[name] == nil { wakeNext() }
        signalIfDrained()
    }

    private func wait(for opening: Opening, of name: String) async throws -> any DatabaseWriter {
        let number = next()
        return try await withTaskCancellationHandler {
            try await withGracefulShutdownHandler {
                try await withCheckedThrowingContinuation { continuation in
                    opening.waiters[number] = continuation
                    if Task.isCancelled { leave(number, name, CancellationError()) }
                    if Task.isShuttingDownGracefully {
                        leave(number, name, MigrationServiceError.storesStopped)
                    }
                }
            } onGracefulShutdown: {
                Task { await self.leave(number, name, MigrationServiceError.storesStopped) }
            }
        } onCancel: {
            Task { await self.leave(number, name, CancellationError()) }
        }
    }

    /// Takes a caller out of those who wait for a store.
    private func leave(_ number: Int, _ name: String, _ error: any Error) {
        guard case .opening(let opening) = slots[name],
            let continuation = opening.waiters.removeValue(forKey: number)
        else { return }
        continuation.resume(throwing: error)
        guard opening.waiters.isEmpty else { return }
        opening.isAbandoned = true
        opening.task?.cancel()
    }

    // MARK: - Room

    /// The unused store whose last use is longest ago.
    private var oldest: String? {
        var oldest: (name: String, lastUse: Int)?
        for case (let name, .open(_, users: 0, let lastUse)) in slots
        where lastUse < oldest?.lastUse ?? .max {
            oldest = (name, lastUse)
        }
        return oldest?.name
    }

    private var hasRoom: Bool { slots.count < maximumOpen || oldest != nil }

    /// - Returns: The store that must be closed first.
    private func makeRoom() -> (any DatabaseWriter)? {
        guard slots.count >= maximumOpen, let oldest,
            case .open(let writer, _, _) = slots.removeValue(forKey: oldest)
        else { return nil }
        noteOpenStores()
        return writer
    }

    private func waitForRoom(atFront: Bool) async throws {
        let number = next()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                queue.insert((number, continuation), at: atFront ? 0 : queue.endIndex)
                if Task.isCancelled { leaveQueue(number) }
            }
        } onCancel: {
            Task { await self.leaveQueue(number) }
        }
    }

    private func leaveQueue(_ number: Int) {
        guard let index = queue.firstIndex(where: { $0.number == number }) else { return }
        queue.remove(at: index).continuation.resume(throwing: CancellationError())
    }

    /// Lets the next one in the queue look again, if there is room.
    private func wakeNext() {
        guard !queue.isEmpty, hasRoom else { return }
        queue.removeFirst().continuation.resume()
    }

    // MARK: - Closing

    /// Waits for the shutdown, and closes every store.
    public func run() async {
        // A cancelled task ends the wait as well.
        try? await gracefulShutdown()
        await shutDown()
    }

    /// Closes every store. Openings are cancelled. The call waits for stores in use. Later callers
    /// get ``MigrationServiceError/storesStopped``.
    public func shutDown() async {
        isShutDown = true
        let waiting = queue
        queue = []
        waiting.forEach { $0.continuation.resume(throwing: MigrationServiceError.storesStopped) }
        for (name, slot) in slots {
            switch slot {
            case .open(_, users: 0, _): retire(name)
            case .open: break
            case .opening(let opening):
                let waiters = opening.waiters
                opening.waiters = [:]
                waiters.values.forEach { $0.resume(throwing: MigrationServiceError.storesStopped) }
                opening.task?.cancel()
            }
        }
        guard !isDrained else { return }
        await withCheckedContinuation { drained.append($0) }
    }

    /// Closes an unused store.
    private func retire(_ name: String) {
        guard case .open(let writer, _, _) = slots.removeValue(forKey: name) else { return }
        noteOpenStores()
        closingCount += 1
        Task {
            await writer.asyncClose()
            closingCount -= 1
            signalIfDrained()
        }
    }

    private var isDrained: Bool { slots.isEmpty && closingCount == 0 }

    private func signalIfDrained() {
        guard isShutDown, isDrained else { return }
        drained.forEach { $0.resume() }
        drained = []
    }

    private func noteOpenStores() {
        opener.options.instruments.record(openStores: openStores.count)
    }
}
