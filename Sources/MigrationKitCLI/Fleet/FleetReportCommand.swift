import ArgumentParser
import MigrationKitFleet

struct FleetReportCommand: ContextCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "report",
            _superCommandName: Program.name,
            abstract: "Merge the reports of runs, and show the summary.",
            usage: "\(Program.name) fleet report <path> ... [<options>]",
            discussion: """
                Reads what --report has written, such as by the tasks of an array. The last line \
                for a store counts, in the order of the files. A store that a killed run didn't \
                finish is named, and so is a shard of which there is no report. The exit code is 0 if \
                all stores are done.
                """
        )
    }

    @Argument(
        help: ArgumentHelp("The reports, oldest first.", valueName: "path"),
        completion: .file()
    )
    var paths: [String]

    @OptionGroup var metrics: FleetMetricsOptions

    @Flag(help: "List every store that isn't done: outcome, code, name and path.")
    var list = false

    @Flag(help: "Print one JSON document.")
    var json = false

    @Flag(name: .shortAndLong, help: .quiet)
    var quiet = false

    var isReport: Bool { true }

    func run(in context: CommandContext) throws {
        let report = try FleetReport(paths: paths)
        let summary = report.summary
        let commands = Set(report.records.map(\.command)).sorted()
        let document = FleetDocument(
            command: commands.joined(separator: ","),
            summary: summary,
            tornLines: report.tornCount,
            missingShards: report.missingShards
        )
        if json {
            try context.printJSON(document)
        } else if list {
            for record in report.records where record.outcome != .done {
                let words = [
                    record.outcome.rawValue, record.error?.code, record.store, record.path,
                ]
                context.output(words.map { $0?.printable ?? "-" }.joined(separator: "\t"))
            }
        } else {
            context.output(document.text(context.style))
        }
        if report.tornCount > 0, !json {
            let lines = report.tornCount == 1 ? "1 line is" : "\(report.tornCount) lines are"
            context.note(
                "\(lines) incomplete and ignored; a killed run or a full disk can cause this"
            )
        }
        try metrics.write(document)
        guard report.missingShards.isEmpty else {
            throw report.splits.count > 1
                ? CommandError.mixedReports(report.splits)
                : CommandError.missingShards(report.missingShards)
        }
        guard summary.failed == 0, summary.unfinished == 0 else {
            throw CommandError.notDone(
                summary,
                list: list ? nil : "--list names each store that isn't done.",
                commands: Set(commands)
            )
        }
    }
}
