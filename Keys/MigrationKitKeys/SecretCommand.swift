import CKeyStore
import Glibc

/// Runs a command that prints a secret.
///
/// The child gets an empty standard input unless it is given another, our standard error, the
/// environment without our password variables, and none of our other descriptors.
enum SecretCommand {
    static func run(_ command: String, named source: KeySource) throws -> Secret {
        let words = try split(command)
        let (program, output) = (words[0], try Pipe())
        defer { output.closeReadEnd() }

        let child: pid_t
        do {
            // Always closed, or our own reading would never see the end.
            defer { output.closeWriteEnd() }
            child = try spawn(words, output: output.write)
        }
        let secret = Result { try SecretReader.read(output.read, named: source) }
        if case .failure(KeySourceError.tooLarge) = secret {
            kill(child, SIGKILL)
        }
        output.closeReadEnd()

        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0 {
            guard errno == EINTR else {
                throw KeySourceError.unreadable(source: "\(source)", code: errno)
            }
        }
        if case .failure(KeySourceError.tooLarge) = secret { return try secret.get() }
        // If the command failed, its output isn't the secret.
        let signal = status & 0x7f
        guard signal == 0 else {
            throw KeySourceError.commandKilled(program: program, signal: signal)
        }
        let code = (status >> 8) & 0xff
        guard code == 0 else { throw KeySourceError.commandFailed(program: program, status: code) }
        return try secret.get()
    }

    static func split(_ command: String) throws -> [String] {
        let words = try ShellWords.split(command)
        guard let program = words.first, !program.isEmpty else {
            throw KeySourceError.unusableCommand(reason: "it is empty")
        }
        return words
    }

    /// - Parameter input: The child's standard input; `nil` for an empty one.
    static func spawn(_ words: [String], input: Int32? = nil, output: Int32) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let input {
            posix_spawn_file_actions_adddup2(&actions, input, 0)
        } else {
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        ckeystore_close_from(&actions, 3)

        // The child starts with default signal handling, whatever ours is.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigaddset(&signals, SIGPIPE)
        sigaddset(&signals, SIGXFSZ)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(
            &attributes,
            Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF)
        )

        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
        defer { arguments.forEach { free($0) } }
        arguments.append(nil)

        // The pointers of the environment itself, without our variables: nothing is copied.
        var environment: [UnsafeMutablePointer<CChar>?] = []
        var variable = ckeystore_environment()
        while let entry = variable?.pointee {
            if strncmp(entry, "MIGRATIONKIT_PASSWORD", 21) != 0 { environment.append(entry) }
            variable = variable?.advanced(by: 1)
        }
        environment.append(nil)

        var child: pid_t = 0
        let code = posix_spawnp(&child, words[0], &actions, &attributes, arguments, environment)
        guard code == 0 else {
            throw KeySourceError.commandNotStarted(program: words[0], code: code)
        }
        return child
    }
}

// MARK: - Shell Words

/// Splits a command into words like a POSIX shell, including quotes and backslashes.
///
/// Nothing is expanded: no variables, no wildcards, no `~`, no pipes. Such characters are passed on
/// unchanged (Shell Command Language, 2.2 Quoting,
/// https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_02).
enum ShellWords {
    /// - Throws: ``KeySourceError/unusableCommand(reason:)``.
    static func split(_ command: String) throws -> [String] {
        var words: [String] = []
        // Nil between words, so that `''` counts as an empty word.
        var word: String?
        var rest = Substring(command)

        while let character = rest.popFirst() {
            switch character {
            case " ", "\t", "\n", "\r\n":
                if let finished = word { words.append(finished) }
                word = nil
            case "'":
                guard let end = rest.firstIndex(of: "'") else {
                    throw unbalanced("'")
                }
                word = (word ?? "") + rest[..<end]
                rest = rest[rest.index(after: end)...]
            case "\"":
                word = try (word ?? "") + quoted(&rest)
            case "\\":
                guard let next = rest.popFirst() else {
                    throw KeySourceError.unusableCommand(
                        reason: "nothing follows its last backslash"
                    )
                }
                if next != "\n" { word = (word ?? "") + String(next) }
            default:
                word = (word ?? "") + String(character)
            }
        }
        if let word { words.append(word) }
        return words
    }

    /// The rest of the double-quoted part of a word, in which a backslash is special only before
    /// `$`, `` ` ``, `"`, `\` and a newline.
    private static func quoted(_ rest: inout Substring) throws -> String {
        var text = ""
        while let character = rest.popFirst() {
            switch character {
            case "\"":
                return text
            case "\\":
                guard let next = rest.popFirst() else { throw unbalanced("\"") }
                switch next {
                case "$", "`", "\"", "\\": text.append(next)
                case "\n": break
                default: text += "\\" + String(next)
                }
            default:
                text.append(character)
            }
        }
        throw unbalanced("\"")
    }

    private static func unbalanced(_ quote: Character) -> KeySourceError {
        .unusableCommand(reason: "a quote (\(quote)) has no end")
    }
}
