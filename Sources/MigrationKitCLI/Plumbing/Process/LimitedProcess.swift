import CKeyStore
import Foundation
import MigrationKitCommon

/// The process in which a command runs whose SQL may be a stranger's.
///
/// Within one of its instructions, SQLite notices neither a signal nor a limit of time, and SQL alone
/// says how much memory it takes. So such a command runs in a child with the system's own limits
/// (setrlimit(2)). The parent waits for it, and ends it if a signal doesn't.
struct LimitedProcess {
    /// What the child may take; `nil` for no limit.
    struct Limits: Equatable {
        /// Processor time, in seconds.
        var seconds: UInt?
        /// Memory, in MiB.
        var megabytes: UInt?

        /// SQLite reports a limit of its own as an error. At the system's, Swift ends the process.
        func limitSQLite() {
            if let megabytes { SQLiteMemoryLimit.set(bytes: Int(megabytes) << 19) }
        }
    }

    static let secondsVariable = "MIGRATIONKIT_MAX_SECONDS"
    static let memoryVariable = "MIGRATIONKIT_MAX_MEMORY"

    let limits: Limits
    /// In the parent, the child.
    private var child: pid_t?
    /// The signals that the parent waits for.
    private var signals = sigset_t()

    /// Continues in a child if the process's first argument is a command that needs one.
    ///
    /// To be called before the process has another thread: the child has only the one that calls.
    ///
    /// - Throws: ``CommandError``.
    static func start() throws(CommandError) -> LimitedProcess {
        guard let standard = standardLimits() else { return LimitedProcess(limits: Limits()) }
        let limits = try Limits(
            seconds: limit(secondsVariable, standard: standard.seconds),
            megabytes: limit(memoryVariable, standard: standard.megabytes)
        )
        var signals = sigset_t()
        sigemptyset(&signals)
        // If it were ignored, the child's end wouldn't be seen.
        signal(SIGCHLD, SIG_DFL)
        for number in [SIGINT, SIGTERM, SIGHUP, SIGCHLD] {
            var action = sigaction()
            sigaction(number, nil, &action)
            // If a signal is ignored (nohup), somebody wanted that.
            if action.__sigaction_handler.sa_handler == nil { sigaddset(&signals, number) }
        }
        var former = sigset_t()
        sigprocmask(SIG_BLOCK, &signals, &former)
        let child = ckeystore_fork()
        if child != 0 {
            guard child > 0 else { throw .noProcess(reason: systemReason(errno)) }
            return LimitedProcess(limits: limits, child: child, signals: signals)
        }
        sigprocmask(SIG_SETMASK, &former, nil)
        limits.limitProcess()
        return LimitedProcess(limits: limits)
    }

    /// What the command's own limits are; `nil` if it needs no child.
    private static func standardLimits() -> Limits? {
        guard CommandLine.argc > 1, let first = CommandLine.unsafeArgv[1] else { return nil }
        func isFirst(_ names: String...) -> Bool { names.contains { strcmp(first, $0) == 0 } }
        // A person's own database has any size.
        if isFirst("verify", "inspect") { return Limits() }
        guard
            isFirst(
                "lint",
                "test",
                "plan",
                "create",
                "schema-diff",
                "schema-dump",
                "schema-load"
            )
        else { return nil }
        // A trial on a copy of it, too.
        let namesDatabase = (2..<max(2, Int(CommandLine.argc))).contains { index in
            CommandLine.unsafeArgv[index].map { strncmp($0, "--db-path", 9) == 0 } ?? false
        }
        return Limits(seconds: namesDatabase ? nil : 300, megabytes: 2048)
    }

    /// The limit that a variable gives, in which 0 means none.
    private static func limit(
        _ variable: String,
        standard: UInt?
    ) throws(CommandError) -> UInt? {
        guard let text = getenv(variable).map({ String(cString: $0) }), !text.isEmpty else {
            return standard
        }
        // No limit of the system overflows.
        guard let number = UInt(text), number <= 1 << 40 else {
            throw .noNumber(variable: variable)
        }
        return number == 0 ? nil : number
    }

    /// Waits for the child's end, and passes signals on to it.
    ///
    /// - Returns: The child's exit code; `nil` if there is no child here.
    /// - Throws: ``CommandError`` if a limit ended it.
    func wait() throws(CommandError) -> Int32? {
        guard let child else { return nil }
        var received: Int32?
        var status: Int32 = 0
        while waitpid(child, &status, WNOHANG) != child {
            var information = siginfo_t()
            var pause = timespec(tv_sec: EndingSignals.patience, tv_nsec: 0)
            var signals = signals
            let number =
                received == nil
                ? sigwaitinfo(&signals, &information)
                : sigtimedwait(&signals, &information, &pause)
            if number < 0, errno == EAGAIN { kill(child, SIGKILL) }
            guard number > 0, number != SIGCHLD else { continue }
            received = number
            // A terminal sends it to the child as well.
            if information.si_code <= 0 { kill(child, number) }
        }
        let ending = status & 0x7F
        guard ending != 0 else { return (status >> 8) & 0xFF }
        // It ends as the child did, if somebody wanted that.
        if let number = received {
            signal(number, SIG_DFL)
            var signals = signals
            sigprocmask(SIG_UNBLOCK, &signals, nil)
            raise(number)
        }
        if ending == SIGXCPU, let seconds = limits.seconds { throw .outOfTime(seconds: seconds) }
        throw .ended(signal: ending, megabytes: limits.megabytes)
    }
}

extension LimitedProcess.Limits {
    fileprivate func limitProcess() {
        if let seconds {
            signal(SIGXCPU, SIG_DFL)
            Self.limit(RLIMIT_CPU, to: rlim_t(seconds))
        }
        if let megabytes { Self.limit(RLIMIT_DATA, to: rlim_t(megabytes) << 20) }
    }

    private static func limit(_ resource: __rlimit_resource, to value: rlim_t) {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(resource.rawValue), &limit)
        limit.rlim_cur = min(value, limit.rlim_max)
        setrlimit(__rlimit_resource_t(resource.rawValue), &limit)
    }
}

/// Why a command that may run a stranger's SQL has no result.
extension CommandError {
    fileprivate static func noProcess(reason: String) -> CommandError {
        CommandError(
            ErrorCode("noProcess", .inputOutput),
            "no process can be started: \(reason)",
            "Try again when the system has room for another process."
        )
    }

    fileprivate static func noNumber(variable: String) -> CommandError {
        CommandError(
            ErrorCode("invalidLimit", .usage),
            "\(variable) is no whole number",
            "Give it a number, or 0 for no limit."
        )
    }

    fileprivate static func outOfTime(seconds: UInt) -> CommandError {
        CommandError(
            ErrorCode("limitExceeded", .dataError),
            "the SQL took more than \(seconds) seconds of processor time",
            """
            'lint' names a migration that runs for long. If it is right so, allow more: \
            \(LimitedProcess.secondsVariable)=SECONDS (0: no limit).
            """
        )
    }

    /// A signal that nobody sent: the system ended the process, or the process itself did.
    fileprivate static func ended(signal: Int32, megabytes: UInt?) -> CommandError {
        let ending = "the system ended the process (signal \(signal))"
        guard let megabytes else {
            return CommandError(
                ErrorCode("processEnded", .inputOutput),
                ending,
                "The system's log may say why, such as too little memory."
            )
        }
        return CommandError(
            ErrorCode("limitExceeded", .dataError),
            "the SQL took more than \(megabytes) MiB of memory, or \(ending)",
            """
            If the migrations are right so, allow more: \(LimitedProcess.memoryVariable)=MIB (0: no \
            limit).
            """
        )
    }
}
