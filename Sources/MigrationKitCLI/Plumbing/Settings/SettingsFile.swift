import MigrationKit

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
