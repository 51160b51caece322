import GRDB
import MigrationKit
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitSQLCipher
import ServiceLifecycle

/// Opens a database, migrates it, and then lets the services start that need it.
///
/// ```swift
/// let database = MigrationService(store: store, runner: runner)
/// let group = ServiceGroup(
///     services: [database, server.starting(after: database)],
///     gracefulShutdownSignals: [.sigterm, .sigint],
///     logger: logger
/// )
/// await group.runOrExit()
/// ```
///
/// A `ServiceGroup` starts all services at the same moment, and so the order of the list alone
/// doesn't make a server wait. It shuts them down in the reverse order: the database comes first in
/// the list, and is closed after everything that uses it.
///
/// A graceful shutdown in the middle of a migration interrupts the running statement. The step's
/// transaction is undone, the steps before it stay, and the next start goes on from there.
///
/// If opening or migrating fails, ``run()`` throws, which ends the group by default. To keep a health
/// check that says why, give this service the group's `failureTerminationBehavior: .ignore`. What
/// starts after the database then never starts.
public final class MigrationService: Service {
    /// How far the service is.
    public enum State: Sendable {
        /// The database isn't open yet.
        case opening

        /// The step with this index, counted from 1, of `count` is running.
        case migrating(index: Int, count: Int)

        /// The database is migrated. The report says what was done at this start.
        case ready(MigrationReport)

        /// Opening or migrating failed. No step is half applied.
        case failed(any Error)

        /// The service was shut down, and has closed the database.
        case stopped
    }

    private struct Contents {
        var state = State.opening
        var writer: (any DatabaseWriter)?
        var isStarted = false
        var observers: [Int: AsyncStream<State>.Continuation] = [:]
        var observerCount = 0
    }

    private let name: String?
    private let runner: GRDBMigrationRunner
    private let options: MigrationOptions
    private let instruments: MigrationInstruments
    private let open: @Sendable () async throws -> any DatabaseWriter
    private let contents = Locked(Contents())

    /// Creates the service of an encrypted store. At the first start, key and file are made as
    /// `EncryptedStore` does.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - runner: The migrations.
    ///   - connection: Whether the store is opened for one connection or several.
    ///   - options: How the run works.
    ///   - instruments: Where metrics, spans and lines of the log go.
    ///   - name: The store's name in these; `nil` for the name of its file, without the extension.
    public convenience init(
        store: EncryptedStore,
        runner: GRDBMigrationRunner,
        connection: StoreConnection = .pool,
        options: MigrationOptions = MigrationOptions(),
        instruments: MigrationInstruments = MigrationInstruments(),
        name: String? = nil
    ) {
        self.init(
            runner: runner,
            options: options,
            instruments: instruments,
            name: name ?? store.fileName
        ) {
            try await connection.open(store)
        }
    }

    /// Creates the service of any database.
    ///
    /// - Parameters:
    ///   - runner: The migrations.
    ///   - options: How the run works.
    ///   - instruments: Where metrics, spans and lines of the log go.
    ///   - name: The database's name in these, as `store`; `nil` for none.
    ///   - open: Opens the database. The service closes it.
    public init(
        runner: GRDBMigrationRunner,
        options: MigrationOptions = MigrationOptions(),
        instruments: MigrationInstruments = MigrationInstruments(),
        name: String? = nil,
        open: @escaping @Sendable () async throws -> any DatabaseWriter
    ) {
        self.name = name
        self.runner = runner
        self.options = options
        self.instruments = instruments
        self.open = open
    }

    /// Opens and migrates the database, keeps it open until the shutdown, and closes it.
    ///
    /// - Throws: What opening and migrating throw, unless a shutdown has cancelled them;
    ///   ``MigrationServiceError/alreadyStarted``.
    public func run() async throws {
        let isFirst = contents.withLock { contents in
            defer { contents.isStarted = true }
            return !contents.isStarted
        }
        guard isFirst else { throw MigrationServiceError.alreadyStarted }
        do {
            let (writer, report) = try await cancelWhenGracefulShutdown { try await self.start() }
            contents.withLock { $0.writer = writer }
            move(to: .ready(report))
            // A cancelled task ends the wait as well.
            try? await gracefulShutdown()
            await writer.asyncClose()
            move(to: .stopped)
        } catch is CancellationError where Task.isShuttingDownGracefully {
            move(to: .stopped)
        } catch {
            move(to: .failed(error))
            throw error
        }
    }

    private func start() async throws -> (any DatabaseWriter, MigrationReport) {
        var options = options
        options.observer = { [observer = options.observer] event in
            if case .stepStarted(_, _, let index, let count) = event {
                self.move(to: .migrating(index: index, count: count))
            }
            observer?(event)
        }
        return try await instruments.observe(store: name, options: options) { options in
            let writer = try await open()
            do {
                return (writer, try await runner.asyncMigrate(in: writer, options: options))
            } catch {
                await writer.asyncClose()
                throw error
            }
        }
    }

    // MARK: - For Others

    /// How far the service is now.
    public var state: State {
        contents.withLock { $0.state }
    }

    /// The states from now on, beginning with the current one. A slow reader gets only the newest.
    /// Ends after `failed` and `stopped`.
    public var states: AsyncStream<State> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: State.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        let (number, isOver) = contents.withLock { contents in
            contents.observerCount += 1
            contents.observers[contents.observerCount] = continuation
            continuation.yield(contents.state)
            return (contents.observerCount, contents.state.isFinal)
        }
        continuation.onTermination = { _ in
            self.contents.withLock { _ = $0.observers.removeValue(forKey: number) }
        }
        if isOver { continuation.finish() }
        return stream
    }

    /// Whether the database is migrated and open.
    public var isReady: Bool {
        if case .ready = state { true } else { false }
    }

    /// The migrated database. Waits until it is ready.
    ///
    /// - Throws: Why the service failed; ``MigrationServiceError/stopped`` if it was shut down; a
    ///   `CancellationError` if the task is cancelled.
    public func database() async throws -> any DatabaseWriter {
        for await state in states {
            switch state {
            case .opening, .migrating: continue
            case .ready:
                if let writer = contents.withLock({ $0.writer }) { return writer }
            case .failed(let error): throw error
            case .stopped: throw MigrationServiceError.stopped
            }
        }
        throw CancellationError()
    }

    private func move(to state: State) {
        let finished = contents.withLock { contents in
            contents.state = state
            contents.observers.values.forEach { $0.yield(state) }
            guard state.isFinal else { return [AsyncStream<State>.Continuation]() }
            contents.writer = nil
            defer { contents.observers = [:] }
            return Array(contents.observers.values)
        }
        // Not under the lock, which the end of a stream takes.
        finished.forEach { $0.finish() }
    }
}

extension EncryptedStore {
    /// As ``EncryptedStores`` calls the file `NAME.db`.
    fileprivate var fileName: String {
        let file = path.split(separator: "/").last ?? ""
        guard let dot = file.lastIndex(of: "."), dot > file.startIndex else { return String(file) }
        return String(file[..<dot])
    }
}

extension MigrationService.State {
    fileprivate var isFinal: Bool {
        switch self {
        case .failed, .stopped: true
        case .opening, .migrating, .ready: false
        }
    }
}

// MARK: - Starting After

extension Service {
    /// The same service, which starts when a database is migrated.
    ///
    /// - Parameter database: The database's service. It comes before this one in the group's list.
    /// - Returns: A service that waits for the database. If it is shut down while it waits, this
    ///   service is never started. If the database's service fails, it never starts either, and
    ///   ends with the group.
    public func starting(after database: MigrationService) -> some Service {
        ServiceAfterMigration(service: self, database: database)
    }
}

private struct ServiceAfterMigration<Base: Service>: Service {
    let service: Base
    let database: MigrationService

    func run() async throws {
        do {
            _ = try await cancelWhenGracefulShutdown { try await database.database() }
        } catch {
            // What becomes of the group is decided where the database failed.
            try? await gracefulShutdown()
            return
        }
        try await service.run()
    }
}
