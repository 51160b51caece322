import ArgumentParser
import MigrationKitCommon

struct ExplainCommand: ContextCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "explain",
            _superCommandName: Program.name,
            abstract: "Explain an error: what it means, what causes it, what to do.",
            usage: """
                \(Program.name) explain [<error> ...] [--json]
                """,
            discussion: """
                An error is a message of SQLite's, SQLCipher's or the desktop's as you paste it, a \
                code that this tool prints with --json, a rule of 'lint', an exit code, or a result \
                code of SQLite's. Without one, the messages are listed. Needs no database and no \
                network.

                \(Program.name) explain "file is not a database"
                \(Program.name) explain wrongKey
                \(Program.name) explain drop-table
                \(Program.name) explain 77
                """
        )
    }

    @Argument(
        help: ArgumentHelp("A message, a code, a rule or a number.", valueName: "error"),
        completion: .list(ExplainAnswer.names)
    )
    var error: [String] = []

    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    var isReport: Bool { true }

    func run(in context: CommandContext) throws {
        let words = error.joined(separator: " ")
        guard !words.isEmpty else {
            let messages = Explanation.all.map(\.message)
            guard !json else { return try context.printJSON(fields: ["messages": messages]) }
            return context.output(messages.joined(separator: "\n"))
        }
        guard let answer = ExplainAnswer(words) else {
            throw CommandError.noExplanation(words)
        }
        if json {
            try context.printJSON(answer)
        } else {
            context.output(answer.text(width: context.reportWidth))
        }
    }
}

extension CommandError {
    /// Nothing is known of what was asked for.
    fileprivate static func noExplanation(_ words: String) -> CommandError {
        let names = ExplainAnswer.names + Explanation.all.map(\.message)
        return CommandError(
            ErrorCode("noExplanation", .usage),
            "nothing is known of '\(words)'",
            nearest(to: words, among: names).map { "Did you mean '\($0)'?" }
                ?? """
                '\(Program.name) explain' lists the messages. Give the part of yours that is always \
                the same.
                """
        )
    }
}
