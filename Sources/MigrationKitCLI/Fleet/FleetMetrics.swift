import ArgumentParser
import Foundation
import MigrationKitCommon

/// The option that writes the numbers of a run, or of the reports of several, for Prometheus.
struct FleetMetricsOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Write the numbers to this file, NAME.prom, for node_exporter's textfile collector.",
            valueName: "path"
        ),
        completion: .file(extensions: ["prom"])
    )
    var metrics: String?

    func validate() throws {
        // The collector reads only these. And the file is replaced: no database has such a name.
        guard metrics?.hasSuffix(".prom") ?? true else {
            throw ValidationError("The path of --metrics must end in '.prom'.")
        }
    }

    /// Throws if the file can't be written, before anything else is done.
    ///
    /// - Throws: ``CommandError``.
    func check() throws {
        guard let metrics else { return }
        guard access(metrics.splitAtLastSlash.folder, W_OK | X_OK) == 0 else {
            throw CommandError.cannotWriteMetrics(path: metrics, reason: systemReason(errno))
        }
    }

    /// Replaces the file by the numbers. Everybody can read it, since node_exporter is another user.
    ///
    /// - Throws: ``CommandError``.
    func write(_ document: FleetDocument) throws {
        guard let metrics else { return }
        do {
            try NewFile.write(
                FleetMetrics(document, at: Date()).text.utf8,
                to: metrics,
                mode: 0o644,
                replaces: true
            )
        } catch let error as NewFileError {
            throw CommandError.cannotWriteMetrics(
                path: metrics,
                reason: systemReason(error.code)
            )
        }
    }
}

/// Numbers in the format that Prometheus reads.
/// <https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format>
struct FleetMetrics {
    let document: FleetDocument
    let time: Date

    init(_ document: FleetDocument, at time: Date) {
        self.document = document
        self.time = time
    }

    var text: String {
        let summary = document.summary
        return [
            family("stores", "Databases by outcome.") {
                [
                    (["outcome": "done"], summary.done), (["outcome": "failed"], summary.failed),
                    (["outcome": "unfinished"], summary.unfinished),
                ]
            },
            family("failures", "Databases that failed, by the code of the error.") {
                summary.causesByCount.map { (["code": $0.code], $0.count) }
            },
            family("versions", "Databases by the last applied migration.") {
                summary.versionsByCount.map { (["version": $0.version ?? ""], $0.count) }
            },
            // Without one that is known, a 0 would look as if all were up to date.
            family("pending", "Databases with a pending migration.") {
                summary.pendingKnown > 0 ? [([:], summary.pending)] : []
            },
            family("pending_unknown", "Databases that are not done and may have one.") {
                [([:], summary.pendingUnknown)]
            },
            family("findings", "Databases in which something was found.") {
                [([:], summary.withFindings)]
            },
            family("applied", "Migrations that were applied.") { [([:], summary.applied)] },
            family("undone", "Migrations that were undone.") { [([:], summary.undone)] },
            family("success", "Whether all databases are done.") {
                let isDone = summary.failed == 0 && summary.unfinished == 0
                return [([:], isDone && document.missingShards?.isEmpty ?? true ? 1 : 0)]
            },
            family("seconds", "How long the run took.") {
                document.seconds.map { [([:], $0)] } ?? []
            },
            family("timestamp_seconds", "When it ended, in seconds since 1970.") {
                [([:], Int(time.timeIntervalSince1970))]
            },
        ].joined()
    }

    /// A metric with its samples.
    private func family<Number: CustomStringConvertible>(
        _ name: String,
        _ help: String,
        _ samples: () -> [(labels: [String: String], value: Number)]
    ) -> String {
        let samples = samples()
        guard !samples.isEmpty else { return "" }
        let name = "migrationkit_fleet_\(name)"
        let lines = samples.map { labels, value in
            var labels = labels
            labels["command"] = document.command
            labels["shard"] = document.shard?.text
            let list = labels.sorted { $0.key < $1.key }
                .map { "\($0.key)=\"\(Self.escaped($0.value))\"" }
            return "\(name){\(list.joined(separator: ","))} \(value)\n"
        }
        return "# HELP \(name) \(help)\n# TYPE \(name) gauge\n" + lines.joined()
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            .replacing("\n", with: "\\n")
    }
}
