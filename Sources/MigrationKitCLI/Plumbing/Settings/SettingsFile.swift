import MigrationKit

/// What a settings file says.
struct SettingsFile: Equatable, Sendable {
    /// A value, checked.
    enum Value: Equatable, Sendable {
        case text(String)
        case seconds(Double)
        case flag(Bool)
        case indexes([RequiredIndexSpec])
    }

    /// A value with the line that it stands in.
    struct Entry: Equatable, Sendable {
        let value: Value
        let line: Int
    }

    /// The name of the file that is looked for in the working folder.
    static let defaultName = "migrationkit.toml"

    /// The path, as it was given.
    let path: String

    let entries: [SettingsKey: Entry]

    func text(_ key: SettingsKey) -> String? {
        if case .text(let text) = entries[key]?.value { text } else { nil }
    }

    func seconds(_ key: SettingsKey) -> Double? {
        if case .seconds(let seconds) = entries[key]?.value { seconds } else { nil }
    }

    func flag(_ key: SettingsKey) -> Bool? {
        if case .flag(let flag) = entries[key]?.value { flag } else { nil }
    }

    /// The indexes that the database must have.
    var requiredIndexes: [RequiredIndexSpec] {
        if case .indexes(let indexes) = entries[.requireIndex]?.value { indexes } else { [] }
    }
}
