import Foundation

/// A child process on a terminal of its own: a session whose controlling terminal, and whose three
/// standard streams, are a pseudo-terminal held by the test.
public final class TerminalProcess: @unchecked Sendable {
    // @unchecked: one task at a time talks to the terminal.
    private let master: Int32
    private var shown: [UInt8] = []
    private var searched = 0
    private var isFinished = false

    /// The child's process id.
    public let processIdentifier: pid_t

    /// Starts a program.
    public init(
        _ executable: String,
        _ arguments: [String] = [],
        environment: [String: String]? = nil
    ) throws {
        var (master, other): (Int32, Int32) = (-1, -1)
        var name = [CChar](repeating: 0, count: 128)
        guard openpty(&master, &other, &name, nil, nil) == 0 else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
        // The child has to be the only one at the other end, so that its going can be seen.
        defer { close(other) }
        self.master = master

        do {
            processIdentifier = try spawn(
                executable,
                arguments,
                environment: environment,
                newSession: true
            ) { actions in
                // The first terminal that a session's leader opens becomes the session's.
                posix_spawn_file_actions_addopen(&actions, 0, name, O_RDWR, 0)
                posix_spawn_file_actions_adddup2(&actions, 0, 1)
                posix_spawn_file_actions_adddup2(&actions, 0, 2)
            }
        } catch {
            close(master)
            throw error
        }
    }

    deinit {
        if !isFinished {
            kill(processIdentifier, SIGKILL)
            _ = finish()
        }
        close(master)
    }

    /// Everything that the terminal showed so far.
    public var text: String { String(decoding: shown, as: UTF8.self) }

    /// Whether the terminal shows what is typed.
    public var echoes: Bool {
        var settings = termios()
        return tcgetattr(master, &settings) == 0 && settings.c_lflag & tcflag_t(ECHO) != 0
    }

    /// Waits until a text appears after what was waited for before.
    ///
    /// - Returns: Whether it did before the program ended, fell silent for a minute, or went on for two
    ///   without it.
    public func wait(for text: String) -> Bool {
        let wanted = Array(text.utf8)
        let deadline = ContinuousClock.now + .seconds(120)
        while ContinuousClock.now < deadline {
            for start in searched..<max(searched, shown.count - wanted.count + 1)
            where shown[start..<(start + wanted.count)].elementsEqual(wanted) {
                searched = start + wanted.count
                return true
            }
            guard readMore() else { return false }
        }
        return false
    }

    /// Types bytes.
    public func type(_ bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        _ = Foundation.write(master, bytes, bytes.count)
    }

    /// Sends a signal.
    public func send(_ signal: Int32) {
        kill(processIdentifier, signal)
    }

    /// Waits for the program's end; what the terminal showed counts as standard output.
    public func finish() -> ProcessResult {
        while readMore() {}
        var status: Int32 = 0
        while waitpid(processIdentifier, &status, 0) < 0, errno == EINTR {}
        isFinished = true
        let signal = status & 0x7f
        return ProcessResult(
            status: signal == 0 ? (status >> 8) & 0xff : nil,
            signal: signal == 0 ? nil : signal,
            outputBytes: shown,
            errorBytes: []
        )
    }

    /// Reads what there is; false once the program, and with it the terminal's other end, is gone.
    private func readMore() -> Bool {
        var waiting = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, 60_000) > 0 else {
            kill(processIdentifier, SIGKILL)
            return false
        }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(master, &buffer, buffer.count)
        guard count > 0 else { return false }
        shown += buffer[..<count]
        return true
    }
}
