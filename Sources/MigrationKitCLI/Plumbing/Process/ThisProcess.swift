import CKeyStore
import Dispatch
import Foundation
import MigrationKitKeys
import MigrationKitCommon

// MARK: - Process Environment

/// The environment of the process, with its password stored separately.
///
/// Foundation's dictionary would make a `String` of `MIGRATIONKIT_PASSWORD`, which can't be wiped.
/// Here its bytes are copied directly into a secret.
struct ProcessEnvironment: Sendable {
    private static let passwordVariable = "MIGRATIONKIT_PASSWORD"

    private let variables: [String: String]
    private let password: Secret?
    /// Variables whose bytes aren't text.
    private let unreadable: Set<String>

    /// The current environment.
    ///
    /// - Parameter wipesPasswords: Whether variables whose names begin with `MIGRATIONKIT_PASSWORD`
    ///   are removed, and wiped where `/proc/PID/environ` shows them. Only for the start of a
    ///   program, since nothing protects the environment against other threads.
    init(wipesPasswords: Bool) {
        var variables: [String: String] = [:]
        var password: Secret?
        var (wiped, unreadable): (Set<String>, Set<String>) = ([], [])
        var next = ckeystore_environment()
        while let entry = next?.pointee {
            next = next?.advanced(by: 1)
            guard let sign = strchr(entry, Int32(UInt8(ascii: "="))) else { continue }
            let name = String(
                decoding: UnsafeRawBufferPointer(start: entry, count: entry.distance(to: sign)),
                as: UTF8.self
            )
            let value = UnsafeMutableRawBufferPointer(start: sign + 1, count: strlen(sign + 1))
            // If a name occurs several times, the first one counts, as for getenv(3).
            if name == Self.passwordVariable {
                password = password ?? Secret(copying: UnsafeRawBufferPointer(value))
            } else if variables[name] == nil {
                let text = String(validating: value, as: UTF8.self)
                variables[name] = text ?? String(decoding: value, as: UTF8.self)
                if text == nil { unreadable.insert(name) }
            }
            if wipesPasswords, name.hasPrefix(Self.passwordVariable) {
                explicit_bzero(sign + 1, value.count)
                wiped.insert(name)
            }
        }
        wiped.forEach { unsetenv($0) }
        self.variables = variables
        self.password = password
        self.unreadable = unreadable
    }

    /// An environment with only these variables.
    init(_ variables: [String: String]) {
        var variables = variables
        password = variables.removeValue(forKey: Self.passwordVariable).map(Secret.init(utf8:))
        self.variables = variables
        unreadable = []
    }

    /// Throws if one of our variables isn't text: as a path, it would become that of another file.
    ///
    /// - Throws: ``MigrationCLIError/notText(_:)``.
    func checkText() throws {
        let names = unreadable.filter { $0.hasPrefix("MIGRATIONKIT_") }
        guard let name = names.min() else { return }
        throw MigrationCLIError.notText(name)
    }

    /// A variable's value. It never returns the password.
    subscript(name: String) -> String? { variables[name] }

    /// A variable's value; `nil` if it is empty, which counts as not set.
    func nonEmpty(_ name: String) -> String? {
        variables[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The names of the variables with a prefix, sorted.
    func names(beginningWith prefix: String) -> [String] {
        variables.keys.filter { $0.hasPrefix(prefix) }.sorted()
    }

    /// A variable's value as a secret. It also returns the password.
    func secret(_ name: String) -> Secret? {
        name == Self.passwordVariable ? password : variables[name].map(Secret.init(utf8:))
    }
}

// MARK: - Process Arguments

/// The process's arguments, which other users can see in `/proc/PID/cmdline`.
enum ProcessArguments {
    /// Removes the value of `--password`, in both its forms, from the arguments.
    ///
    /// An asterisk replaces it. If this is called before `CommandLine.arguments`, no `String` of
    /// the value is ever made.
    ///
    /// - Returns: The value; if there are several, the last, as for the parser.
    static func takePassword() -> Secret? {
        let option = "--password"
        var password: Secret?
        var isValue = false
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = CommandLine.unsafeArgv[index] else { continue }
            if isValue {
                isValue = false
                // If the value is missing and another option follows, the parser reports that.
                guard strncmp(argument, "--", 2) != 0 else { continue }
                password = take(argument)
            } else if strcmp(argument, option) == 0 {
                isValue = true
            } else if strncmp(argument, option + "=", option.utf8.count + 1) == 0 {
                password = take(argument + option.utf8.count + 1)
            }
        }
        return password
    }

    /// Throws if an argument isn't text: as a path, it would become that of another file.
    ///
    /// - Throws: ``MigrationCLIError/notText(_:)``.
    static func checkText() throws {
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = CommandLine.unsafeArgv[index],
                String(validatingCString: argument) == nil
            else { continue }
            throw MigrationCLIError.notText("argument \(index)")
        }
    }

    private static func take(_ argument: UnsafeMutablePointer<CChar>) -> Secret {
        let count = strlen(argument)
        let secret = Secret(copying: UnsafeRawBufferPointer(start: argument, count: count))
        explicit_bzero(argument, count)
        // Hides even the length.
        if count > 0 { argument.pointee = CChar(UInt8(ascii: "*")) }
        return secret
    }
}

// MARK: - Ending Signals

/// Handles Ctrl-C and the other signals that ask a program to end: during a run, uncommitted
/// changes are undone first.
final class EndingSignals: @unchecked Sendable {
    // `@unchecked`: only the thread that created this uses `source`.
    private struct State {
        var first: Int32?
        var isOver = false
    }

    private let state = Locked(State())
    private var source: (any DispatchSourceRead)?

    /// The received signal, if any.
    var received: Int32? {
        state.withLock { $0.first }
    }

    /// How long a run may continue after a signal, in seconds, before more is done about it.
    static let patience = 2

    /// Handles signals until ``stop()``. A second signal ends the process at once, as it would
    /// without this: neither a step that isn't SQL nor a single long SQLite function can be
    /// interrupted.
    ///
    /// The signal handler writes to a pipe, so that no signal is lost before Dispatch reads it.
    ///
    /// - Parameters:
    ///   - cancel: Called at the first signal, to cancel the run.
    ///   - stillRunning: Called with the signal if the run continues for ``patience`` after that.
    init(
        _ cancel: @escaping @Sendable () -> Void,
        stillRunning: @escaping @Sendable (_ signal: Int32) -> Void
    ) {
        // If a signal is ignored (nohup) or has a handler, somebody else wanted that.
        let signals = [SIGINT, SIGTERM, SIGHUP].filter { number in
            var action = sigaction()
            sigaction(number, nil, &action)
            return action.__sigaction_handler.sa_handler == nil
        }
        var pipe: [Int32] = [-1, -1]
        guard !signals.isEmpty, ckeystore_pipe(&pipe) == 0 else { return }
        let (output, input) = (pipe[0], pipe[1])
        guard ckeystore_catch_first_signal(input, signals, signals.count) == 0 else {
            close(output)
            close(input)
            return
        }
        let source = DispatchSource.makeReadSource(fileDescriptor: output, queue: .global())
        source.setEventHandler { [self] in
            var number: UInt8 = 0
            guard read(output, &number, 1) == 1 else { return }
            state.withLock { $0.first = $0.first ?? Int32(number) }
            cancel()
            DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(Self.patience)) {
                [self, number] in
                state.withLock {
                    if !$0.isOver { stillRunning(Int32(number)) }
                }
            }
        }
        source.setCancelHandler {
            close(output)
            close(input)
        }
        source.resume()
        self.source = source
    }

    func stop() {
        // Waits for a note that is being printed.
        state.withLock { $0.isOver = true }
        guard let source else { return }
        ckeystore_release_signals()
        source.cancel()
        self.source = nil
    }
}
