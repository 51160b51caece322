import Glibc

/// Where a key comes from.
///
/// Its description names the source for messages and never shows a secret.
public enum KeySource: Sendable, Equatable {
    /// The value of `--password`.
    case password(Secret)
    /// A file that only its owner can read.
    case file(path: String)
    /// Standard input, to its end.
    case standardInput
    /// An open descriptor, to its end.
    case fileDescriptor(Int32)
    /// The output of a command. It is split into words as in a shell, but no shell runs it.
    case command(String)
    /// The value of an environment variable.
    case environment(variable: String, value: Secret)
    /// A file in the service manager's credentials folder; the name alone if it has given none.
    case credentialsFile(path: String)
    /// An item of the key store.
    case keyStore(service: String, account: String?)
    /// A question on the terminal, with this text.
    case prompt(String)
}

extension KeySource: CustomStringConvertible {
    /// The source's name, worded to follow "from": `standard input`, `the file "key.txt"`.
    public var description: String {
        switch self {
        case .password: "--password"
        case .file(let path): "the file \"\(path)\""
        case .standardInput: "standard input"
        case .fileDescriptor(let number): "the descriptor \(number)"
        case .command(let command):
            // The arguments may contain secrets.
            if let program = try? ShellWords.split(command).first {
                "the command \"\(program)\""
            } else {
                "the password command"
            }
        case .environment(let variable, _): "the environment variable \(variable)"
        case .credentialsFile(let path): "the credential \"\(path)\""
        case .keyStore(let service, let account?):
            "secret store, service \"\(service)\", username \"\(account)\""
        case .keyStore(let service, nil): "secret store, service \"\(service)\""
        case .prompt: "the terminal"
        }
    }
}

extension KeySource {
    /// Gets the secret.
    ///
    /// - Parameter keyStore: Makes the key store.
    /// - Throws: ``KeySourceError``; ``KeyStoreError`` from a key store.
    func secret(keyStore: () throws -> any KeyStore) throws -> Secret {
        switch self {
        case .password(let secret), .environment(_, let secret):
            try SecretReader.checked(secret, named: self)
        case .file(let path):
            try SecretFile.read(path, trust: .ownerOnly, named: self)
        case .credentialsFile(let name) where !name.hasPrefix("/"):
            throw KeySourceError.noCredential(name: name)
        case .credentialsFile(let path):
            try SecretFile.read(path, trust: .anyOwner, named: self)
        case .standardInput:
            try SecretReader.readOpen(STDIN_FILENO, named: self)
        case .fileDescriptor(let number):
            try SecretReader.readOpen(number, named: self)
        case .command(let command):
            try SecretCommand.run(command, named: self)
        case .prompt(let text):
            try TerminalPrompt.read(text, named: self)
        case .keyStore(let service, let account):
            try keyStore().entry(service: service, account: account).text(named: self)
        }
    }

    /// The descriptor that the secret is read from, if this process has it open already.
    package var descriptor: Int32? {
        switch self {
        case .standardInput: STDIN_FILENO
        case .fileDescriptor(let number): number
        case .file(let path): SecretFile.descriptorNumber(path)
        default: nil
        }
    }
}
