import Foundation
import MigrationKit
import TOMLKit

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
