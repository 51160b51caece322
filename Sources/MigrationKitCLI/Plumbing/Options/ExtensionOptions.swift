import ArgumentParser
import MigrationKitSQLCipher

/// The option that loads what a schema needs and SQLite doesn't have.
struct ExtensionOptions: ParsableArguments {
    @Option(
        name: .customLong("extension"),
        help: ArgumentHelp(
            "Load an extension of SQLite, which has functions or tokenizers of the schema.",
            valueName: "path"
        ),
        completion: .file(extensions: ["so"])
    )
    var paths: [String] = []

    /// Makes every connection from here on load them.
    func use() throws { try paths.forEach(SQLiteExtensions.use) }
}

/// A command with the option that loads extensions.
protocol ExtensionUsing: ContextCommand {
    var extensions: ExtensionOptions { get }
}
