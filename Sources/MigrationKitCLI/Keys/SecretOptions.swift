import ArgumentParser
import KeyStore

/// The options that give a key by other ways than the Secret Service.
struct SecretOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The file with the key, readable only by its owner (chmod 600); '-' is standard input.",
            valueName: "path"
        ),
        completion: .file()
    )
    var passwordFile: String?

    @Option(
        help: ArgumentHelp("The open descriptor that gives the key.", valueName: "number")
    )
    var passwordFd: Int32?

    @Option(
        help: ArgumentHelp(
            "The command that prints the key. It is not run by a shell.",
            valueName: "command"
        )
    )
    var passwordCommand: String?

    @Option(
        help: ArgumentHelp(
            "The key itself. Other users may see it, and the shell's history keeps it: prefer another option.",
            valueName: "passphrase"
        )
    )
    var password: String?

    @Flag(help: "The key is 64 hexadecimal digits (96 with the salt), not a passphrase.")
    var rawKey = false

    func validate() throws {
        if let passwordFd, passwordFd < 0 {
            throw ValidationError("The value for '--password-fd' must not be negative.")
        }
    }

    /// What the key's bytes are.
    var form: DatabaseKey.Form { rawKey ? .rawKey : .passphrase }

    /// The options that are given and name a source.
    var named: [String] {
        [
            password.map { _ in "--password" },
            passwordFile.map { _ in "--password-file" },
            passwordFd.map { _ in "--password-fd" },
            passwordCommand.map { _ in "--password-command" },
        ].compactMap { $0 }
    }

    /// The source that an option names; `nil` where none does.
    ///
    /// - Parameter passwordArgument: The value of `--password`, where it was taken out of the
    ///   process's arguments before they became text.
    func source(passwordArgument: Secret?) -> KeySource? {
        password.map { .password(passwordArgument ?? Secret(utf8: $0)) } ?? sourceBesidePassword
    }

    /// The source that an option other than `--password` names; `nil` where none does.
    var sourceBesidePassword: KeySource? {
        if let passwordFile {
            passwordFile == "-" ? .standardInput : .file(path: passwordFile)
        } else if let passwordFd {
            .fileDescriptor(passwordFd)
        } else {
            passwordCommand.map(KeySource.command)
        }
    }
}
