import MigrationKitCommon
import FoundationEssentials

/// Why a source gave no usable key, or not that of one of many stores.
public enum KeySourceError: Error, Equatable, Sendable {
    /// No file is at the path.
    case noSuchFile(path: String)
    /// The service manager has handed over no credentials.
    case noCredential(name: String)
    /// The path's last component is a symbolic link.
    case symbolicLink(path: String)
    /// The path leads to something that is neither a regular file nor a pipe.
    case notAFile(path: String)
    /// The file belongs to another user who isn't root.
    case wrongOwner(path: String, owner: UInt32)
    /// The file's mode gives its group or others access.
    case openToOthers(path: String, mode: UInt32)
    /// The system doesn't let this user read the file.
    case permissionDenied(path: String)
    /// Reading failed, with this errno.
    case unreadable(source: String, code: Int32)
    /// The source returned nothing, or only a newline.
    case empty(source: String)
    /// The source returned more bytes than a key may have.
    case tooLarge(source: String, limit: Int)
    /// The number names no open descriptor.
    case badDescriptor(Int32)
    /// Standard input, or the descriptor, is a terminal, which would show what is typed.
    case terminal(source: String)
    /// The command has an unbalanced quote or ends in a backslash, or is empty.
    case unusableCommand(reason: String)
    /// The command's program could not be started, with this errno.
    case commandNotStarted(program: String, code: Int32)
    /// The command ended with this status.
    case commandFailed(program: String, status: Int32)
    /// A signal ended the command.
    case commandKilled(program: String, signal: Int32)
    /// There is no terminal to ask on.
    case noTerminal
    /// The question was cancelled.
    case promptCancelled
    /// Another question is already open on the terminal.
    case promptBusy
    /// The secret can't be a key of the requested form.
    case unusableKey(source: String, reason: DatabaseKeyError)
    /// No key can belong to a store of this name: it is empty, or leads out of the folder of keys.
    case unusableName(String)
    /// A master key is not 64 hexadecimal digits; it has this many bytes.
    case unusableMasterKey(count: Int)
    /// libcrypto can't derive a key.
    case noDerivation
    /// The key helper ended without an answer.
    case helperEnded(program: String)
    /// The key helper didn't answer within this many seconds.
    case helperTimedOut(program: String, seconds: Double)
    /// The key helper's answer can't be understood.
    case unusableAnswer(program: String, reason: String)
    /// The key helper answered that it has no key; the message is its own.
    case refused(program: String, message: String)
}

extension KeySourceError: LocalizedError {
    /// What is wrong, in one line.
    public var errorDescription: String? {
        switch self {
        case .noCredential(let name):
            "there is no credential \"\(name)\": the service manager has not set CREDENTIALS_DIRECTORY"
        case .noSuchFile(let path):
            "there is no key file \"\(path)\""
        case .symbolicLink(let path):
            "the key file \"\(path)\" is a symbolic link"
        case .notAFile(let path):
            "the key file \"\(path)\" is neither a regular file nor a pipe"
        case .wrongOwner(let path, let owner):
            "the key file \"\(path)\" belongs to another user (id \(owner))"
        case .openToOthers(let path, let mode):
            "the key file \"\(path)\" can be read or written by other users (mode \(octal(mode)))"
        case .permissionDenied(let path):
            "the key file \"\(path)\" can't be read: permission denied"
        case .unreadable(let source, let code):
            "the key can't be read from \(source): \(systemMessage(code))"
        case .empty(let source):
            "the key from \(source) is empty"
        case .tooLarge(let source, let limit):
            "the key from \(source) is larger than \(limit) bytes"
        case .badDescriptor(let number):
            "the descriptor \(number) is not open for reading"
        case .terminal(let source):
            "\(source) is a terminal, which would show the key as it is typed"
        case .unusableCommand(let reason):
            "the password command can't be run: \(reason)"
        case .commandNotStarted(let program, let code):
            "the password command \"\(program)\" can't be started: \(systemMessage(code))"
        case .commandFailed(let program, let status):
            "the password command \"\(program)\" failed with status \(status)"
        case .commandKilled(let program, let signal):
            "the password command \"\(program)\" was ended by signal \(signal)"
        case .noTerminal:
            "there is no terminal to ask for the key"
        case .promptCancelled:
            "the prompt for the key was cancelled"
        case .promptBusy:
            "another prompt is already open on the terminal"
        case .unusableKey(let source, let reason):
            "the key from \(source) can't be used: \(reason.errorDescription ?? "")"
        case .unusableName(let name):
            "no key can be looked up by the store name \"\(name)\""
        case .unusableMasterKey(let count):
            "a master key is 64 hexadecimal digits"
                + (count == 64
                    ? "; this one has other characters" : "; this one has \(count) characters")
        case .noDerivation:
            "libcrypto can't derive a key with HKDF and SHA-256"
        case .helperEnded(let program):
            "the key helper \"\(program)\" ended without an answer"
        case .helperTimedOut(let program, let seconds):
            "the key helper \"\(program)\" did not answer within \(seconds.text) seconds"
        case .unusableAnswer(let program, let reason):
            "the answer of the key helper \"\(program)\" can't be used: \(reason)"
        case .refused(let program, let message):
            "the key helper \"\(program)\" has no key: \(message)"
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .noCredential(let name):
            "Add LoadCredential=\(name):PATH to the service's unit, with the path of the key's file."
        case .noSuchFile, .unreadable, .badDescriptor:
            "Check the source of the key."
        case .symbolicLink:
            "Give the path of the file itself."
        case .notAFile:
            "Give a file that holds the key and nothing else."
        case .wrongOwner(let path, _):
            "Its owner could change it. Take it over:\n  chown \"$USER\" \(path.shellPath)"
        case .openToOthers(let path, _):
            "Remove the access of others:\n  chmod 600 \(path.shellPath)"
        case .permissionDenied(let path):
            "Look at its owner and mode:\n  ls -l \(path.shellPath)"
        case .empty:
            "An empty key would leave the database unencrypted. Put the key there, on one line."
        case .tooLarge:
            "A key is one line of text. Check the source."
        case .terminal:
            "Leave the option out to be asked without echo, or give the key through a pipe."
        case .unusableCommand:
            "The command is split into words as in a shell. Close every quote."
        case .commandNotStarted:
            "Is the program installed and in PATH? No shell runs it: for pipes and variables use"
                + " sh -c '...'"
        case .commandFailed, .commandKilled:
            "Its messages are above. Run it by hand to see what is wrong."
        case .noTerminal:
            "Give the key by a file, a command, a descriptor, or the Secret Service."
        case .promptCancelled, .promptBusy, .refused:
            nil
        case .unusableKey(_, let reason):
            reason.recoverySuggestion
        case .unusableName:
            "Give the store another name, such as with \"account\" in a list of JSON lines."
        case .unusableMasterKey:
            "Make one with: openssl rand -hex 32"
        case .noDerivation:
            "Check whether OpenSSL is restricted, for example to FIPS algorithms, and allow HKDF "
                + "with SHA-256."
        case .helperEnded, .unusableAnswer:
            """
            Its messages are above. It reads a line {"store":"NAME"} and answers with one line: \
            {"key":"...","form":"raw"}, {"key":"...","form":"passphrase"} or {"error":"..."}.
            """
        case .helperTimedOut:
            "It was stopped, and is restarted for the next store. Find out why it hangs, or "
                + "allow more time."
        }
    }

    private func octal(_ mode: UInt32) -> String {
        let digits = String(mode, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}

extension KeySourceError: CodedError {
    /// The error's code for programs, and its exit status.
    public var code: ErrorCode {
        switch self {
        case .noSuchFile, .noCredential: ErrorCode("noSuchKeyFile", .noInput)
        case .notAFile: ErrorCode("notAKeyFile", .noInput)
        case .symbolicLink: ErrorCode("keyFileIsLink", .noPermission)
        case .wrongOwner: ErrorCode("keyFileOfAnother", .noPermission)
        case .openToOthers: ErrorCode("keyFileOpenToOthers", .noPermission)
        case .permissionDenied: ErrorCode("keyPermissionDenied", .noPermission)
        case .unreadable: ErrorCode("keyUnreadable", .inputOutput)
        case .empty: ErrorCode("emptyKey", .noPermission)
        case .tooLarge: ErrorCode("keyTooLarge", .noPermission)
        case .badDescriptor, .terminal, .unusableCommand: ErrorCode("unusableKeySource", .usage)
        case .commandNotStarted, .commandFailed, .commandKilled:
            ErrorCode("passwordCommandFailed", .noPermission)
        case .noTerminal: ErrorCode("noTerminal", .usage)
        case .promptCancelled: ErrorCode("promptCancelled", .noPermission)
        case .promptBusy: ErrorCode("promptBusy", .busy)
        case .unusableKey(_, let reason): reason.code
        case .unusableName: ErrorCode("unusableStoreName", .dataError)
        case .unusableMasterKey: ErrorCode("unusableKey", .noPermission)
        case .noDerivation: ErrorCode("noDerivation", .unavailable)
        case .helperEnded, .unusableAnswer: ErrorCode("keyHelperFailed", .noPermission)
        case .helperTimedOut: ErrorCode("keyHelperTimedOut", .unavailable)
        case .refused: ErrorCode("keyRefused", .noPermission)
        }
    }
}
