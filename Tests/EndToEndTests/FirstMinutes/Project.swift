import Foundation
import TestSupport

/// A folder in which somebody works with the built tool, and nothing in it yet.
struct Project {
    let folder: TemporaryFolder
    var environment: [String: String]

    /// - Parameters:
    ///   - environment: The environment but for the home folder.
    ///   - home: The home folder, where the search for settings ends; `nil` for the folder itself.
    init(_ environment: [String: String] = [:], home: String? = nil) throws {
        folder = try TemporaryFolder()
        self.environment = ["PATH": "/usr/bin:/bin"].merging(environment) { $1 }
        self.environment["HOME"] = home ?? folder.path
    }

    /// Runs the tool in the folder, or in one below it.
    func run(_ arguments: String..., in place: String = "") throws -> ProcessResult {
        try TestSupport.run(
            "/usr/bin/env",
            ["-C", folder.path(place), builtExecutable("migrationkit-cli")] + arguments,
            environment: environment,
            newSession: true
        )
    }

    /// Pastes lines into a shell that has the tool in its search path.
    func paste(_ lines: [String]) throws -> ProcessResult {
        let tool = (try builtExecutable("migrationkit-cli") as NSString).deletingLastPathComponent
        return try TestSupport.run(
            "/usr/bin/env",
            ["-C", folder.path, "bash", "-euc", lines.joined(separator: "\n")],
            environment: environment.merging(["PATH": "\(tool):/usr/bin:/bin"]) { $1 },
            newSession: true
        )
    }

    func text(_ name: String) throws -> String {
        String(decoding: try folder.data(name), as: UTF8.self)
    }
}
