import CKeyStore
import Foundation

/// A child process whose three standard streams are pipes held by the test.
///
/// Foundation's `Process` is not used because a child of it inherits what other, parallel tests
/// have open at that moment; here nothing but the three streams is passed on.
public final class ChildProcess: @unchecked Sendable {
    // @unchecked: the descriptors and the state are touched under `lock` alone.
    private let lock = NSLock()
    private var input: Int32
    private var output: Int32
    private var error: Int32
    private var waited: ProcessResult?

    /// The child's process id.
    public let processIdentifier: pid_t

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - executable: A path, or a name that is looked up in the test's own `PATH`.
    ///   - arguments: The arguments after the program's name.
    ///   - environment: The whole environment; nil passes on the test's own.
    ///   - newSession: Whether the child gets a session of its own, without a terminal.
    public init(
        _ executable: String,
        _ arguments: [String] = [],
        environment: [String: String]? = nil,
        newSession: Bool = false
    ) throws {
        var ends: [Int32] = []
        func pair() throws -> (read: Int32, write: Int32) {
            var both: [Int32] = [-1, -1]
            guard ckeystore_pipe(&both) == 0 else {
                throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
            }
            ends += both
            return (both[0], both[1])
        }
        let (standardInput, standardOutput, standardError) = (try pair(), try pair(), try pair())

        do {
            processIdentifier = try spawn(
                executable,
                arguments,
                environment: environment,
                newSession: newSession
            ) { actions in
                posix_spawn_file_actions_adddup2(&actions, standardInput.read, 0)
                posix_spawn_file_actions_adddup2(&actions, standardOutput.write, 1)
                posix_spawn_file_actions_adddup2(&actions, standardError.write, 2)
            }
        } catch {
            ends.forEach { close($0) }
            throw error
        }
        for end in [standardInput.read, standardOutput.write, standardError.write] { close(end) }
        input = standardInput.write
        output = standardOutput.read
        error = standardError.read
    }

    deinit {
        if waited == nil {
            kill(processIdentifier, SIGKILL)
            _ = try? finish()
        }
    }

    /// Sends a signal.
    public func send(_ signal: Int32) {
        kill(processIdentifier, signal)
    }

    /// Writes bytes to the child's standard input; a child that has gone is no error.
    public func write(_ bytes: some Collection<UInt8>) {
        lock.withLock { writeAll(Array(bytes)) }
    }

    /// Closes the child's standard input.
    public func closeInput() {
        lock.withLock {
            if input >= 0 { close(input) }
            input = -1
        }
    }

    /// Reads one line of standard output, without its newline; nil at the end.
    public func readLine() -> String? {
        lock.withLock {
            var line: [UInt8] = []
            var byte: UInt8 = 0
            while true {
                let count = read(output, &byte, 1)
                if count < 0, errno == EINTR { continue }
                guard count == 1 else {
                    return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
                }
                if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
                line.append(byte)
            }
        }
    }

    /// Sends what is left to send, reads both outputs to their ends, and waits for the child.
    ///
    /// - Parameters:
    ///   - bytes: What the child gets on standard input, which is then closed.
    ///   - seconds: How long the child may take before it is killed.
    public func finish(
        sending bytes: some Collection<UInt8> = EmptyCollection<UInt8>(),
        within seconds: Int = 120
    ) throws -> ProcessResult {
        lock.lock()
        defer { lock.unlock() }
        if let waited { return waited }

        let deadline = Date().addingTimeInterval(TimeInterval(seconds))
        var pending = ArraySlice(Array(bytes))
        var collected: [[UInt8]] = [[], []]
        if input >= 0 { _ = fcntl(input, F_SETFL, O_NONBLOCK) }
        if pending.isEmpty, input >= 0 {
            close(input)
            input = -1
        }
        var buffer = [UInt8](repeating: 0, count: 65536)
        var killed = false
        while output >= 0 || error >= 0 {
            // poll(2) passes over an entry whose descriptor is negative.
            var waiting = [
                pollfd(fd: input, events: Int16(POLLOUT), revents: 0),
                pollfd(fd: output, events: Int16(POLLIN), revents: 0),
                pollfd(fd: error, events: Int16(POLLIN), revents: 0),
            ]
            let left = max(0, Int32(deadline.timeIntervalSinceNow * 1000))
            let ready = poll(&waiting, 3, killed ? 2000 : left)
            if ready == 0 {
                if killed { break }
                kill(processIdentifier, SIGKILL)
                killed = true
                continue
            }
            if ready < 0 { continue }
            if waiting[0].revents != 0 {
                let sent = Self.writeWithoutSignal(input, pending)
                if sent > 0 { pending = pending.dropFirst(sent) }
                if pending.isEmpty || (sent < 0 && errno != EAGAIN && errno != EINTR) {
                    close(input)
                    input = -1
                }
            }
            for (index, descriptor) in [output, error].enumerated()
            where waiting[index + 1].revents != 0 {
                let count = read(descriptor, &buffer, buffer.count)
                if count > 0 {
                    collected[index] += buffer[..<count]
                } else if count == 0 || errno != EINTR {
                    close(descriptor)
                    if index == 0 { output = -1 } else { error = -1 }
                }
            }
        }
        for descriptor in [input, output, error] where descriptor >= 0 { close(descriptor) }
        (input, output, error) = (-1, -1, -1)

        var status: Int32 = 0
        while waitpid(processIdentifier, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7f
        let result = ProcessResult(
            status: signal == 0 ? (status >> 8) & 0xff : nil,
            signal: signal == 0 ? nil : signal,
            outputBytes: collected[0],
            errorBytes: collected[1]
        )
        waited = result
        return result
    }

    private func writeAll(_ bytes: [UInt8]) {
        var rest = ArraySlice(bytes)
        while !rest.isEmpty {
            let sent = Self.writeWithoutSignal(input, rest)
            if sent < 0, errno == EINTR { continue }
            guard sent > 0 else { return }
            rest = rest.dropFirst(sent)
        }
    }

    /// write(2) that answers EPIPE without the SIGPIPE that would end the test process.
    private static func writeWithoutSignal(_ descriptor: Int32, _ bytes: ArraySlice<UInt8>) -> Int {
        var pipeSignal = sigset_t()
        var before = sigset_t()
        sigemptyset(&pipeSignal)
        sigaddset(&pipeSignal, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &pipeSignal, &before)
        let sent = bytes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
        let code = errno
        if sent < 0, code == EPIPE {
            var atOnce = timespec()
            sigtimedwait(&pipeSignal, nil, &atOnce)
        }
        pthread_sigmask(SIG_SETMASK, &before, nil)
        errno = code
        return sent
    }
}

/// Runs a program to its end and answers what it left.
///
/// - Parameters:
///   - executable: A path, or a name that is looked up in the test's own `PATH`.
///   - arguments: The arguments after the program's name.
///   - environment: The whole environment; nil passes on the test's own.
///   - input: What the program gets on standard input, through a pipe.
///   - newSession: Whether it runs without a controlling terminal.
///   - seconds: How long it may take before it is killed.
public func run(
    _ executable: String,
    _ arguments: [String] = [],
    environment: [String: String]? = nil,
    input: some Collection<UInt8> = EmptyCollection<UInt8>(),
    newSession: Bool = false,
    within seconds: Int = 120
) throws -> ProcessResult {
    try ChildProcess(executable, arguments, environment: environment, newSession: newSession)
        .finish(sending: input, within: seconds)
}

/// The path of an executable that the package has built.
///
/// - Parameters:
///   - name: Its name.
///   - besideTests: Whether it must be the debug build beside the tests. Otherwise `TESTED_TOOL`
///     may name another `migrationkit-cli`, such as the one of `make build`. In a debug build,
///     ArgumentParser checks all declarations before it parses, which takes most of a command's time.
public func builtExecutable(_ name: String, besideTests: Bool = false) throws -> String {
    let tool = ProcessInfo.processInfo.environment["TESTED_TOOL"]
    if let tool, name == "migrationkit-cli", !besideTests { return tool }
    let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    return URL(fileURLWithPath: tests).deletingLastPathComponent()
        .appendingPathComponent(name).path
}

extension TemporaryFolder {
    /// Copies `migrationkit-cli` to here, for another user: what is built may be in a folder that only
    /// its owner can enter, as root's own.
    public func copyOfTool() throws -> String {
        let copy = path("tool")
        try FileManager.default.copyItem(
            atPath: builtExecutable("migrationkit-cli"),
            toPath: copy
        )
        return copy
    }
}
