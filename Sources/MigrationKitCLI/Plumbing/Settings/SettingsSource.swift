import MigrationKitCommon

/// The settings file of a command, read once, and only when somebody asks.
final class SettingsSource: Sendable {
    private struct State {
        var option: String?
        var loaded: SettingsFile??
    }

    private let state = Locked(State())

    /// Takes note of what `--config` says. A command does it before anything asks for a setting.
    func use(_ config: String?) {
        state.withLock { $0.option = config }
    }

    /// What `--config` says.
    var config: String? {
        state.withLock { $0.option }
    }

    /// The file; `nil` where there is none.
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
    /// The settings file, read at the first call; `nil` where there is none.
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

    /// The settings that there are: a program with steps of its own has no folder of them.
    var settingsKeys: [SettingsKey] {
        switch host.migrations {
        case .folder: SettingsKey.allCases
        case .runner: SettingsKey.allCases.filter { $0 != .migrations }
        }
    }

    /// A setting: what the option says, or else the environment, or else the file.
    ///
    /// - Throws: ``SettingsFileError``.
    func text(_ key: SettingsKey, option: String?) throws -> String? {
        try option ?? key.variable.flatMap(environment.nonEmpty) ?? settings()?.text(key)
    }
}
