import ArgumentParser
import MigrationKitKeys

struct KeyDeriveCommand: ContextCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "derive",
            _superCommandName: Program.name,
            abstract: "Print the key derived for a store from a master key.",
            usage: """
                \(Program.name) key derive --master-key-file <path> <name> [<options>]
                """,
            discussion: """
                The key is that of 'fleet --master-key-file': HKDF with SHA-256 over the store's \
                name. It is a raw key, for --raw-key. It is printed only to a terminal: a file or a \
                pipe could keep it.
                """
        )
    }

    @Option(
        help: ArgumentHelp(
            "The file with the master key: 64 hexadecimal digits ('openssl rand -hex 32').",
            valueName: "path"
        ),
        completion: .file()
    )
    var masterKeyFile: String

    @Argument(help: ArgumentHelp("The store's name.", valueName: "name"))
    var name: String

    @Flag(help: "Print it even if standard output is not a terminal.")
    var force = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    func run(in context: CommandContext) throws {
        guard force || context.outputIsTerminal else {
            throw CommandError.outputIsNoTerminal
        }
        let key = try MasterKey(file: masterKeyFile).key(ofStore: name)
        context.reveal(key.hexadecimal())
    }
}
