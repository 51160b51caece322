import Dispatch
import Glibc
import MigrationKitCommon

/// Keys from a program of the user's, which may ask a vault for them.
///
/// The program runs as long as keys are needed. It reads lines from its standard input and answers
/// each with a line, both JSON objects:
///
/// ```
/// {"store":"alice"}
/// {"key":"6b657920…","form":"raw"}
/// {"store":"bob"}
/// {"key":"correct horse","form":"passphrase"}
/// {"store":"carol"}
/// {"error":"no such tenant"}
/// ```
///
/// A raw key is 64 or 96 hexadecimal digits. The end of its input is the program's sign to end. It
/// runs several times, each with one question at a time. One that ends, is silent for too long or
/// answers something else costs only the store that it was asked for, and is started anew.
public final class KeyHelper: StoreKeys {
    private let words: [String]
    private let timeout: Duration
    private let form: DatabaseKey.Form
    private let isCancelled: @Sendable () -> Bool
    /// How many more may be asked at the same time.
    private let free: DispatchSemaphore
    private let idle = Locked<[Idle]>([])

    private struct Idle: @unchecked Sendable {
        // `@unchecked`: one thread at a time has taken it from the list.
        let process: KeyHelperProcess
    }

    private var program: String { words[0] }

    /// Starts the first one, so that a command that can't be started is noticed at once.
    ///
    /// - Parameters:
    ///   - command: The command. It is split into words as in a shell, but no shell runs it.
    ///   - limit: How many may run at the same time, from 1 upwards.
    ///   - timeout: How long one may take for an answer.
    ///   - form: The form of a key whose answer gives none.
    ///   - isCancelled: Called several times a second while one is being waited for. Once it returns
    ///     true, ``key(ofStore:)`` throws a `CancellationError`.
    /// - Throws: ``KeySourceError/unusableCommand(reason:)``;
    ///   ``KeySourceError/commandNotStarted(program:code:)``.
    public init(
        _ command: String,
        limit: Int,
        timeout: Duration = .seconds(30),
        form: DatabaseKey.Form = .passphrase,
        isCancelled: @escaping @Sendable () -> Bool = { false }
    ) throws {
        precondition(limit > 0, "no helper may run")
        words = try SecretCommand.split(command)
        self.timeout = timeout
        self.form = form
        self.isCancelled = isCancelled
        free = DispatchSemaphore(value: limit)
        let first = Idle(process: try KeyHelperProcess(words))
        idle.withLock { $0 = [first] }
    }

    /// - Throws: ``KeySourceError``; a `CancellationError`.
    public func key(ofStore name: String) throws -> DatabaseKey {
        free.wait()
        defer { free.signal() }
        let start = ContinuousClock.now
        // One that waited may have ended just now, without having seen the question.
        let known = try takeIdle().flatMap { try ask($0, name, since: start) }
        guard let answer = try known ?? ask(KeyHelperProcess(words), name, since: start) else {
            throw KeySourceError.helperEnded(program: program)
        }
        switch answer {
        case .key(let secret, let form):
            do {
                return try DatabaseKey(secret, form: form)
            } catch let reason as DatabaseKeyError {
                throw KeySourceError.unusableKey(
                    source: "the key helper \"\(program)\"",
                    reason: reason
                )
            }
        case .refused(let message):
            throw KeySourceError.refused(program: program, message: message)
        }
    }

    private func takeIdle() -> KeyHelperProcess? {
        while let last = idle.withLock({ $0.popLast() }) {
            if last.process.isReady { return last.process }
        }
        return nil
    }

    /// - Returns: `nil` if the helper has ended.
    private func ask(
        _ process: KeyHelperProcess,
        _ name: String,
        since start: ContinuousClock.Instant
    ) throws -> KeyHelperAnswer? {
        let answer = try process.ask(
            name,
            within: timeout,
            since: start,
            check: checkCancellation
        ) {
            try KeyHelperAnswer($0, of: program, assuming: form)
        }
        guard let answer else {
            // Ctrl-C ends the helper as well, perhaps a moment before it is known here.
            if !isCancelled() { usleep(50_000) }
            try checkCancellation()
            return nil
        }
        let idleAgain = Idle(process: process)
        idle.withLock { $0.append(idleAgain) }
        return answer
    }

    private func checkCancellation() throws {
        if isCancelled() { throw CancellationError() }
    }
}
