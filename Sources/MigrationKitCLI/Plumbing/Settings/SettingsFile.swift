import Foundation
import MigrationKit
import MigrationKitCommon
import MigrationKitLint
import TOMLKit

/// The content of a settings file.
struct SettingsFile: Equatable, Sendable {
    /// A value, checked.
    enum Value: Equatable, Sendable {
        case text(String)
        case seconds(Double)
        case number(Int)
        case flag(Bool)
        case indexes([RequiredIndexSpec])
        case names([String])
        case levels([LintRule: LintLevel?])

        /// The value of an option that is a setting, too; `nil` if it isn't given.
        init?(option: Any?) {
            switch option {
            case let text as String: self = .text(text)
            case let seconds as Double: self = .seconds(seconds)
            case let flag as Bool: self = .flag(flag)
            case let number as Int: self = .number(number)
            case let name as any RawRepresentable<String>: self = .text(name.rawValue)
            default: return nil
            }
        }

        /// The value in the type of its option.
        var content: Any {
            switch self {
            case .text(let text): text
            case .seconds(let seconds): seconds
            case .number(let number): number
            case .flag(let flag): flag
            case .indexes(let indexes): indexes
            case .names(let names): names
            case .levels(let levels): levels
            }
        }
    }

    /// A value with its line.
    struct Entry: Equatable, Sendable {
        let value: Value
        let line: Int
    }

    /// The name of the file that is looked for.
    static let defaultName = "migrationkit.toml"

    /// The path, as it was given or found.
    let path: String

    let entries: [SettingsKey: Entry]

    /// Who else could have written the file, which was found and not named; `nil` for nobody.
    var doubt: SettingsFileError?

    /// What the file says of a setting; `nil` if that is nothing, or of another type.
    func value<Value>(_ key: SettingsKey, as type: Value.Type = Value.self) -> Value? {
        entries[key]?.value.content as? Value
    }
}

extension SettingsFile {
    /// Larger than any settings file. A device has no end.
    private static let limit = 1 << 16

    /// Reads the file that was named.
    ///
    /// - Parameters:
    ///   - path: Its path, absolute or relative to the working folder. A pipe is read to its end.
    ///   - home: What `~/` stands for in its paths.
    ///   - keys: The known settings.
    /// - Throws: ``SettingsFileError``.
    static func named(_ path: String, home: String?, keys: [SettingsKey]) throws -> SettingsFile {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(errno, path) }
        defer { close(descriptor) }
        return try read(descriptor, path, home: home, keys: keys)
    }

    /// Reads an open file to its end.
    static func read(
        _ descriptor: Int32,
        _ path: String,
        home: String?,
        keys: [SettingsKey]
    ) throws -> SettingsFile {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 16384)
        while true {
            let count = Foundation.read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure(errno, path) }
            guard count > 0 else { break }
            bytes += piece[..<count]
            guard bytes.count <= limit else {
                throw SettingsFileError.tooLarge(path: path, limit: limit)
            }
        }
        return try SettingsFile(bytes: bytes, path: path, home: home, keys: keys)
    }

    /// The error for an errno.
    static func failure(_ code: Int32, _ path: String) -> SettingsFileError {
        switch code {
        case ENOENT, ENOTDIR: .noSuchFile(path: path)
        case EISDIR: .notAFile(path: path)
        case EACCES, EPERM: .permissionDenied(path: path)
        default: .unreadable(path: path, reason: systemReason(code))
        }
    }
}

extension SettingsFile {
    /// Reads the text of a file.
    ///
    /// - Parameters:
    ///   - bytes: The text, in UTF-8.
    ///   - path: The file's path. Relative paths in it start at its folder.
    ///   - home: What `~/` stands for in its paths.
    ///   - keys: The known settings.
    /// - Throws: ``SettingsFileError``.
    init(bytes: [UInt8], path: String, home: String?, keys: [SettingsKey]) throws {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw SettingsFileError.malformed(place: path, reason: "this is not UTF-8 text")
        }
        // The parser takes a NUL for the end of the text, even if it is written as an escape.
        guard !["\0", "\\u0000", "\\U00000000"].contains(where: text.contains) else {
            throw SettingsFileError.malformed(place: path, reason: "there is a NUL in this text")
        }
        let source = SettingsText(text)
        // First, since the parser's error may quote the secret.
        if let (key, line) = source.secret {
            throw SettingsFileError.secret(key: key, place: "\(path):\(line)")
        }
        var entries: [SettingsKey: Entry] = [:]
        for (name, value, line) in try source.settings(path: path) {
            let place = "\(path):\(line)"
            guard !SettingsText.isSecret(name) else {
                throw SettingsFileError.secret(key: name, place: place)
            }
            guard name != "password-command" else { throw SettingsFileError.command(place: place) }
            guard let key = SettingsKey(rawValue: name), keys.contains(key) else {
                throw SettingsFileError.unknownKey(
                    name.printable,
                    place: place,
                    nearest: nearest(to: name, among: keys.map(\.rawValue))
                )
            }
            let kind = key.setting.kind
            if case .levels = kind, value.type == .table, let table = value.table {
                let levels = try Self.levels(table, of: name) {
                    "\(path):\(source.line(of: $0, in: name))"
                }
                entries[key] = Entry(value: .levels(levels), line: line)
                continue
            }
            guard let value = Self.value(value, of: kind, seenFrom: path, home: home) else {
                throw SettingsFileError.wrongValue(
                    key: name,
                    place: place,
                    expected: kind.expected
                )
            }
            entries[key] = Entry(value: value, line: line)
        }
        self.init(path: path, entries: entries)
        try checkKeySource()
    }

    private func checkKeySource() throws {
        guard entries[.keychainService] == nil else {
            guard entries[.passwordFile] == nil else {
                throw SettingsFileError.severalKeySources(path: path)
            }
            return
        }
        for key in [SettingsKey.keychainAccount, .keychainCollection] {
            guard let entry = entries[key] else { continue }
            throw SettingsFileError.missing(
                key: SettingsKey.keychainService.rawValue,
                for: key.rawValue,
                place: "\(path):\(entry.line)"
            )
        }
    }

    /// The value in our own type; `nil` if it doesn't fit the setting.
    private static func value(
        _ value: any TOMLValueConvertible,
        of kind: Setting.Kind,
        seenFrom path: String,
        home: String?
    ) -> Value? {
        switch kind {
        case .path:
            // Standard input belongs to the person who types the command.
            guard let text = text(value), text != "-" else { return nil }
            return .text(resolved(text, seenFrom: path, home: home))
        case .text, .choice, .salt, .namePattern:
            return text(value).flatMap { kind.value($0) }
        case .number:
            return value.type == .int ? value.int.flatMap { kind.value($0) } : nil
        case .seconds(let allowsZero):
            guard let seconds = number(value), seconds <= 86400,
                allowsZero ? seconds >= 0 : seconds > 0
            else { return nil }
            return .seconds(seconds)
        case .indexes:
            guard value.type == .array, let array = value.array else { return nil }
            var indexes: [RequiredIndexSpec] = []
            for element in array {
                guard let text = text(element), let index = RequiredIndexSpec(dotted: text) else {
                    return nil
                }
                if !indexes.contains(index) { indexes.append(index) }
            }
            return .indexes(indexes)
        case .names:
            guard value.type == .array, let array = value.array else { return nil }
            let names = array.compactMap(text)
            return names.count == array.count ? .names(names) : nil
        case .flag:
            return value.type == .bool ? value.bool.map(Value.flag) : nil
        case .levels:
            return nil
        }
    }

    /// The levels of rules.
    ///
    /// - Parameter place: The place of a rule's name.
    private static func levels(
        _ table: TOMLTable,
        of name: String,
        place: (String) -> String
    ) throws -> [LintRule: LintLevel?] {
        var levels: [LintRule: LintLevel?] = [:]
        for (key, value) in table {
            guard let rule = LintRule(rawValue: key) else {
                throw SettingsFileError.unknownKey(
                    "\(name).\(key)".printable,
                    place: place(key),
                    nearest: nearest(to: key, among: LintRule.allCases.map(\.rawValue))
                )
            }
            let level = text(value)
            guard let level, level == "off" || LintLevel(rawValue: level) != nil else {
                throw SettingsFileError.wrongValue(
                    key: "\(name).\(key)",
                    place: place(key),
                    expected: "\"off\", \"note\", \"warning\" or \"error\""
                )
            }
            levels.updateValue(LintLevel(rawValue: level), forKey: rule)
        }
        return levels
    }

    private static func text(_ value: any TOMLValueConvertible) -> String? {
        guard value.type == .string, let text = value.string, !text.isEmpty else { return nil }
        return text
    }

    private static func number(_ value: any TOMLValueConvertible) -> Double? {
        switch value.type {
        case .int: value.int.map(Double.init)
        case .double: value.double
        default: nil
        }
    }

    private static func resolved(_ path: String, seenFrom file: String, home: String?) -> String {
        if path.hasPrefix("~/"), let home {
            return home + path.dropFirst()
        }
        guard !path.hasPrefix("/"), let slash = file.lastIndex(of: "/") else { return path }
        return file[...slash] + path
    }
}

extension RequiredIndexSpec {
    /// - Parameter text: `TABLE.INDEX`. Only the index's name may contain a dot.
    init?(dotted text: String) {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else { return nil }
        self.init(table: String(parts[0]), index: String(parts[1]))
    }
}

// MARK: - Settings File Error

/// Why a settings file can't be used. None of these errors shows a value of the file.
public enum SettingsFileError: Error, Equatable, Sendable {
    /// The named file doesn't exist.
    case noSuchFile(path: String)

    /// The file that was found is a link to a missing file.
    case danglingLink(path: String)

    /// The path leads to a folder or a device.
    case notAFile(path: String)

    /// The file can't be read: permission denied.
    case permissionDenied(path: String)

    /// Reading failed.
    case unreadable(path: String, reason: String)

    /// The file is larger than any settings file.
    case tooLarge(path: String, limit: Int)

    /// The file was found, not named, and it or a link to it belongs to another user.
    case ofAnother(path: String)

    /// The file was found, not named, and others may write it.
    case writableByOthers(path: String)

    /// The file was found above the working folder, and somebody else could have put it there.
    case inFolderOfAnother(path: String)

    /// The folder of the migrations or of the checks is outside of the repository, and only a file that
    /// was found, or a link, says so.
    case folderOutside(of: String, path: String)

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
        case .ofAnother(let path): "the settings file \(path) belongs to another user"
        case .writableByOthers(let path): "the settings file \(path) can be written by others"
        case .inFolderOfAnother(let path):
            "the settings file \(path) is in a folder that others can write"
        case .folderOutside(let content, let path):
            "the folder of \(content), '\(path)', is outside of the repository"
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
            It decides which database is opened. If you trust it, give it with '--config \
            \(path.shellPath)'. For no settings: '--config /dev/null'.
            """
        case .writableByOthers(let path):
            """
            It decides which database is opened. If it is as you want it, let nobody else write it: \
            'chmod go-w \(path.shellPath)'. For no settings: '--config /dev/null'.
            """
        case .inFolderOfAnother(let path):
            """
            It was found above the working folder, where its paths start, and others could put \
            migrations there. If you trust it, give it with '--config \(path.shellPath)'. For no \
            settings: '--config /dev/null'.
            """
        case .folderOutside(let content, let path):
            """
            A change that is checked could show any file this way. If the folder is right, give it:
              --\(content) \(path.shellPath)
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
        case .ofAnother, .writableByOthers, .inFolderOfAnother:
            ErrorCode("settingsOfAnother", .noPermission)
        case .folderOutside: ErrorCode("leavesRepository", .noPermission)
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
