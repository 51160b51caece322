import CKeyStore
import Foundation

/// Starts a program, to which nothing of the test's is passed on but its three standard streams.
///
/// - Parameters:
///   - executable: A path, or a name that is looked up in the test's own `PATH`.
///   - arguments: The arguments after the program's name.
///   - environment: The whole environment; nil passes on the test's own.
///   - newSession: Whether the child gets a session of its own, without a terminal.
///   - setStreams: Says what the descriptors 0, 1 and 2 of the child are.
/// - Returns: The child's process id.
func spawn(
    _ executable: String,
    _ arguments: [String],
    environment: [String: String]?,
    newSession: Bool,
    setStreams: (inout posix_spawn_file_actions_t) -> Void
) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    setStreams(&actions)
    ckeystore_close_from(&actions, 3)

    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigfillset(&signals)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    var flags = Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF)
    if newSession { flags |= ckeystore_new_session() }
    posix_spawnattr_setflags(&attributes, flags)

    var words: [UnsafeMutablePointer<CChar>?] = ([executable] + arguments).map { strdup($0) }
    words.append(nil)
    var variables: [UnsafeMutablePointer<CChar>?] =
        (environment ?? ProcessInfo.processInfo.environment).map { strdup("\($0)=\($1)") }
    variables.append(nil)
    defer { (words + variables).forEach { free($0) } }

    var child: pid_t = 0
    let failure = posix_spawnp(&child, executable, &actions, &attributes, words, variables)
    guard failure == 0 else { throw POSIXError(POSIXErrorCode(rawValue: failure) ?? .EIO) }
    return child
}
