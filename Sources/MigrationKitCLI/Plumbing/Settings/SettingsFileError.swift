import MigrationKitCommon
import Foundation

/// Why a settings file can't be used. None of these errors shows a value of the file.
public enum SettingsFileError: Error, Equatable, Sendable {
    /// The named file doesn't exist.
    case noSuchFile(path: String)

    /// The file in the working folder is a link to a missing file.
    case danglingLink(path: String)

    /// The path leads to a folder or a device.
    case notAFile(path: String)

    /// The file can't be read: permission denied.
    case permissionDenied(path: String)

    /// Reading failed.
    case unreadable(path: String, reason: String)

    /// The file is larger than any settings file.
    case tooLarge(path: String, limit: Int)

    /// The file was found in the working folder, and somebody else could have written it.
    case ofAnother(path: String)

    /// The file is not TOML. The place is `path:line:column`.
    case malformed(place: String, reason: String)

    /// There is no such setting. The place is `path:line`, here and below.
    case unknownKey(String, place: String, nearest: String?)

    /// The file contains a secret.
    case secret(key: String, place: String)

    /// The file names a command to run.
    case command(place: String)

    /// A value has the wrong type or is out of range for its setting.
    case wrongValue(key: String, place: String, expected: String)

    /// Two settings name a key source.
    case severalKeySources(path: String)

    /// A setting needs another one, which is missing.
    case missing(key: String, for: String, place: String)
}

extension SettingsFileError: LocalizedError {
    /// What is wrong, in one line.
    public var errorDescription: String? {
        switch self {
        case .noSuchFile(let path): "there is no settings file \(path)"
        case .danglingLink(let path):
            "the settings file \(path) is a link to a file that doesn't exist"
        case .notAFile(let path): "the settings file \(path) is not a file"
        case .permissionDenied(let path):
            "the settings file \(path) can't be read: permission denied"
        case .unreadable(let path, let reason):
            "the settings file \(path) can't be read: \(reason)"
        case .tooLarge(let path, let limit):
            "the settings file \(path) has more than \(limit) bytes"
        case .ofAnother(let path): "the settings file \(path) can be written by others"
        case .malformed(let place, let reason): "\(place): \(reason)"
        case .unknownKey(let key, let place, _): "\(place): unknown setting '\(key)'"
        case .secret(let key, let place):
            "\(place): '\(key)' is a secret, which a settings file must not contain"
        case .command(let place): "\(place): a settings file can't name a command to run"
        case .wrongValue(let key, let place, let expected):
            "\(place): '\(key)' must be \(expected)"
        case .severalKeySources(let path):
            "\(path): the key is given more than once: keychain-service, password-file"
        case .missing(let key, let other, let place):
            "\(place): '\(other)' needs '\(key)'"
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .noSuchFile, .notAFile:
            "Check the path of --config, or of the environment variable MIGRATIONKIT_CONFIG."
        case .danglingLink:
            "Correct or remove the link. For no settings: --config /dev/null."
        case .permissionDenied:
            "Make it readable, or give another file with --config (/dev/null: no settings)."
        case .unreadable:
            "Check the disk."
        case .tooLarge:
            "Check that this is the right file."
        case .ofAnother(let path):
            """
            It belongs to another user, or others may write it (chmod go-w), and it decides which \
            database is changed. If you trust it, give it with --config \(path). For no settings: \
            --config /dev/null.
            """
        case .malformed:
            "The file is TOML: one setting on each line, such as db-path = \"notes.db\"."
        case .unknownKey(_, _, let nearest?):
            "Did you mean '\(nearest)'?"
        case .unknownKey:
            "'status --show-settings --config /dev/null' lists all settings."
        case .secret:
            """
            Files get copied, shared and committed. Delete the secret there, and name where it is \
            kept: keychain-service for the desktop's secret store, or password-file for a file that \
            only you can read.
            """
        case .command:
            """
            Anyone who runs the tool in a folder would run what its file says. Give \
            --password-command on the command line.
            """
        case .wrongValue:
            nil
        case .severalKeySources:
            "Use only one."
        case .missing(let key, _, _):
            "Add '\(key)', or leave it to the command line."
        }
    }
}

extension SettingsFileError: CodedError {
    /// The error's code for programs, and its exit status.
    public var code: ErrorCode {
        switch self {
        case .noSuchFile, .danglingLink, .notAFile: ErrorCode("noSuchSettingsFile", .noInput)
        case .permissionDenied: ErrorCode("settingsPermissionDenied", .noPermission)
        case .unreadable: ErrorCode("settingsUnreadable", .inputOutput)
        case .ofAnother: ErrorCode("settingsOfAnother", .noPermission)
        case .tooLarge, .malformed: ErrorCode("malformedSettings", .usage)
        case .unknownKey: ErrorCode("unknownSetting", .usage)
        case .secret: ErrorCode("secretInSettings", .usage)
        case .command: ErrorCode("commandInSettings", .usage)
        case .wrongValue: ErrorCode("wrongSetting", .usage)
        case .severalKeySources: ErrorCode("severalKeySources", .usage)
        case .missing: ErrorCode("incompleteSettings", .usage)
        }
    }
}
