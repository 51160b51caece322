import ArgumentParser

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
