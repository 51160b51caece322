import Foundation
import MigrationKit
import MigrationKitCommon
import TOMLKit

/// The content of a settings file.
struct SettingsFile: Equatable, Sendable {
    /// A value, checked.
    enum Value: Equatable, Sendable {
        case text(String)
        case seconds(Double)
        case flag(Bool)
        case indexes([RequiredIndexSpec])

        /// The value of an option that is a setting, too; `nil` if it isn't given.
        init?(option: Any?) {
            switch option {
            case let text as String: self = .text(text)
            case let seconds as Double: self = .seconds(seconds)
            case let flag as Bool: self = .flag(flag)
            default: return nil
            }
        }

        /// The value in the type of its option.
        var content: Any {
            switch self {
            case .text(let text): text
            case .seconds(let seconds): seconds
            case .flag(let flag): flag
            case .indexes(let indexes): indexes
            }
        }
    }

    /// A value with its line.
    struct Entry: Equatable, Sendable {
        let value: Value
        let line: Int
    }

    /// The file name that is looked for in the working folder.
    static let defaultName = "migrationkit.toml"

    /// The path, as it was given.
    let path: String

    let entries: [SettingsKey: Entry]

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

    /// Reads the file of the working folder, if there is one.
    ///
    /// Nobody named it on the command line, so it must belong to the user or to root, and nobody
    /// else may write it, not even the group. Otherwise, in a shared folder, another user could
    /// decide which database is changed.
    ///
    /// - Throws: ``SettingsFileError``.
    static func found(home: String?, keys: [SettingsKey]) throws -> SettingsFile? {
        // Doesn't wait: a pipe with this name isn't a settings file.
        let descriptor = open(defaultName, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            guard errno == ENOENT else { throw failure(errno, defaultName) }
            var link = stat()
            guard lstat(defaultName, &link) != 0 else {
                throw SettingsFileError.danglingLink(path: defaultName)
            }
            return nil
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure(errno, defaultName) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw SettingsFileError.notAFile(path: defaultName)
        }
        guard status.st_uid == geteuid() || status.st_uid == 0,
            status.st_mode & (S_IWGRP | S_IWOTH) == 0
        else { throw SettingsFileError.ofAnother(path: defaultName) }
        return try read(descriptor, defaultName, home: home, keys: keys)
    }

    private static func read(
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

    private static func failure(_ code: Int32, _ path: String) -> SettingsFileError {
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
        case .text:
            return text(value).map(Value.text)
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
        case .flag:
            return value.type == .bool ? value.bool.map(Value.flag) : nil
        }
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
