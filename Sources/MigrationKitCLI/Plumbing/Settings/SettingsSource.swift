import ArgumentParser
import MigrationKitCommon

/// The settings file of a command, read once and only when needed.
final class SettingsSource: Sendable {
    private struct State {
        var option: String?
        var loaded: SettingsFile??
    }

    private let state = Locked(State())

    /// Records the value of `--config`. Called before any setting is read.
    func use(_ config: String?) {
        state.withLock { $0.option = config }
    }

    /// The value of `--config`.
    var config: String? {
        state.withLock { $0.option }
    }

    /// The file; `nil` if there is none.
    func file(_ read: (_ config: String?) throws -> SettingsFile?) throws -> SettingsFile? {
        try state.withLock { state in
            if let loaded = state.loaded { return loaded }
            let file = try read(state.option)
            state.loaded = .some(file)
            return file
        }
    }
}

extension CommandContext {
    /// The settings file, read at the first call; `nil` if there is none.
    ///
    /// - Throws: ``SettingsFileError``.
    func settings() throws -> SettingsFile? {
        try settingsSource.file { config in
            let (home, keys) = (environment.nonEmpty("HOME"), settingsKeys)
            if let path = config ?? environment.nonEmpty("MIGRATIONKIT_CONFIG") {
                return try .named(path, home: home, keys: keys)
            }
            return try .found(home: home, keys: keys)
        }
    }

    /// The available settings. A program with its own steps has no folder of migrations.
    var settingsKeys: [SettingsKey] {
        switch host.migrations {
        case .folder: SettingsKey.allCases
        case .runner: SettingsKey.allCases.filter { $0 != .migrations }
        }
    }

    /// What an option says, or else what the environment or the settings file says of the setting
    /// that goes by it. (The default of an option is its group's.)
    ///
    /// - Parameters:
    ///   - option: The option, as the table of settings has it.
    ///   - options: Its group.
    /// - Throws: ``SettingsFileError``.
    func value<Options, Value>(
        _ option: KeyPath<Options, Value?>,
        of options: Options
    ) throws -> Value? {
        if let given = options[keyPath: option] { return given }
        guard let key = settingsKeys.first(where: { $0.setting.option == option }) else {
            return nil
        }
        return try setting(key)?.value.content as? Value
    }

    /// What the environment or the settings file says of a setting, and where.
    ///
    /// - Throws: ``SettingsFileError``.
    func setting(
        _ key: SettingsKey
    ) throws -> (value: SettingsFile.Value, origin: SettingsOrigin)? {
        if let variable = key.variable, let text = environment.nonEmpty(variable) {
            return (.text(text), .environment(variable))
        }
        guard let settings = try settings(), let entry = settings.entries[key] else { return nil }
        return (entry.value, .file(settings.path, line: entry.line))
    }
}

/// Where the value of a setting comes from.
enum SettingsOrigin: Equatable {
    case option(String)
    case environment(String)
    case file(String, line: Int)
    case workingFolder
    case byDefault
    case unset
}

/// The option that names the settings file, for commands without migrations.
struct SettingsOptions: ParsableArguments {
    @Option(help: .settingsFile)
    var config: String?
}

extension ArgumentHelp {
    /// The help of `--config`.
    static var settingsFile: ArgumentHelp {
        ArgumentHelp(
            "The settings file (or MIGRATIONKIT_CONFIG; default: migrationkit.toml, if there is one).",
            valueName: "path"
        )
    }
}
