import CKeyStore
import Glibc

/// Asks for a secret on the controlling terminal, without echo.
///
/// The terminal is always restored. While the echo is off, a signal that would end or stop the
/// process is only recorded. Then the terminal and the signal's disposition are restored, and the
/// signal is raised again, so that the process ends, stops, or runs its own handler as usual.
/// (OpenBSD's readpassphrase(3) works this way.) Blocking the signals would not work: another
/// thread would receive them.
///
/// libbsd's readpassphrase(3) was tried instead. It is made for programs with one thread: on
/// another thread than the main one, Ctrl-C doesn't end it, and if there are two questions at once,
/// the second shows what is typed. It also silently truncates a long passphrase, and treats Ctrl-D
/// like an empty line.
enum TerminalPrompt {
    private enum Answer {
        case secret(Secret)
        case signal(Int32)
    }

    /// Whether there is a terminal to ask on.
    static var isPossible: Bool {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else { return false }
        close(terminal)
        return true
    }

    static func read(_ text: String, named source: KeySource) throws -> Secret {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else { throw KeySourceError.noTerminal }
        defer { close(terminal) }

        while true {
            switch try ask(text, on: terminal, named: source) {
            case .secret(let secret):
                return try SecretReader.checked(secret, named: source)
            case .signal(let number):
                raise(number)
                // After SIGTSTP the process was stopped and continued: ask again. After any other
                // signal, its handler has returned.
                guard number == SIGTSTP else { throw KeySourceError.promptCancelled }
            }
        }
    }

    private static func ask(
        _ text: String,
        on terminal: Int32,
        named source: KeySource
    ) throws -> Answer {
        let signals = try Pipe()
        let ending = [SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP]
        guard ckeystore_catch_signals(signals.write, ending, ending.count) == 0 else {
            throw KeySourceError.promptBusy
        }
        defer { ckeystore_release_signals() }

        var before = termios()
        guard tcgetattr(terminal, &before) == 0 else { throw KeySourceError.noTerminal }
        var silent = before
        silent.c_lflag &= ~tcflag_t(ECHO | ECHONL)
        silent.c_lflag |= tcflag_t(ICANON | ISIG)
        guard tcsetattr(terminal, TCSAFLUSH, &silent) == 0 else { throw KeySourceError.noTerminal }
        defer {
            tcsetattr(terminal, TCSAFLUSH, &before)
            // Writes the newline that wasn't echoed.
            write("\n", to: terminal)
        }

        write(text, to: terminal)
        var interruption: Int32?
        let secret = try Secret(capacity: SecretReader.limit + 3) { memory in
            var used = 0
            while used < memory.count {
                var waiting = [
                    pollfd(fd: terminal, events: Int16(POLLIN), revents: 0),
                    pollfd(fd: signals.read, events: Int16(POLLIN), revents: 0),
                ]
                if poll(&waiting, 2, -1) < 0 { continue }
                if waiting[1].revents != 0 {
                    var number: UInt8 = 0
                    if Glibc.read(signals.read, &number, 1) == 1 {
                        interruption = Int32(number)
                        return 0
                    }
                }
                guard waiting[0].revents != 0 else { continue }
                let count = Glibc.read(
                    terminal,
                    memory.baseAddress.map { $0 + used },
                    memory.count - used
                )
                if count < 0, errno == EINTR || errno == EAGAIN { continue }
                // Ctrl-D, or the terminal is gone.
                guard count > 0 else { throw KeySourceError.promptCancelled }
                used += count
                if memory[used - 1] == UInt8(ascii: "\n") { break }
            }
            return used
        }
        return interruption.map(Answer.signal) ?? .secret(secret)
    }

    private static func write(_ text: String, to terminal: Int32) {
        var text = text
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                let count = Glibc.write(terminal, rest.baseAddress, rest.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return }
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
        }
    }
}
