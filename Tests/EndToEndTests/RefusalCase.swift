import Foundation
import TestSupport
import Testing

/// A folder of migrations with something odd in it, and what the tool does with it.
struct RefusalCase: CustomTestStringConvertible, Sendable {
    /// The snapshot's name.
    let name: String
    /// The files of the folder. Those in folders of their own have a slash in the name.
    let files: [(name: String, contents: [UInt8])]
    /// What is run one after the other on one store.
    var commands = [["migrate"]]
    /// What else the folder has to have.
    var prepare: @Sendable (Tool) throws -> Void = { _ in }

    var testDescription: String { name }

    init(_ name: String, _ files: KeyValuePairs<String, String>) {
        self.name = name
        self.files = files.map { ($0.key, Array($0.value.utf8)) }
    }

    /// A folder with one file in the form of dbmate, or in another form with a name to match.
    init(_ name: String, _ text: String, in file: String = "0001_notes.sql") {
        self.init(name, [file: text])
    }

    /// A folder with one file of any bytes.
    init(_ name: String, bytes: [UInt8]) {
        self.name = name
        self.files = [("0001_notes.sql", bytes)]
    }

    /// The same, with something that is no file.
    func with(_ prepare: @escaping @Sendable (Tool) throws -> Void) -> RefusalCase {
        var copy = self
        copy.prepare = prepare
        return copy
    }

    /// The same, with other commands.
    func running(_ commands: [String]...) -> RefusalCase {
        var copy = self
        copy.commands = commands
        return copy
    }

    /// Runs the commands, and answers all that they print, how they end, and what they leave in the
    /// database. The temporary folder is called `FOLDER` in it, and times are all the same.
    func transcript(of tool: Tool) throws -> String {
        for (name, contents) in files {
            let path = "migrations/\(name)"
            if let slash = path.lastIndex(of: "/") {
                let folder = tool.folder.path(String(path[..<slash]))
                if !FileManager.default.fileExists(atPath: folder) {
                    try tool.folder.makeFolder(String(path[..<slash]))
                }
            }
            try tool.folder.write(path, contents)
        }
        try prepare(tool)
        return try commands.map { command in
            let result = try tool.run(
                [command[0]] + tool.opening + ["--migrations", tool.migrations]
                    + command.dropFirst()
            )
            #expect(!(result.stdout + result.stderr).contains(tool.password))
            return """
                $ migrationkit-cli \(command.joined(separator: " "))
                exit \(result.status.map(String.init) ?? "by a signal")
                --- standard output
                \(tool.withoutWhatDiffers(result.stdout))--- standard error
                \(tool.withoutWhatDiffers(result.stderr))\(try schema(of: tool))
                """
        }.joined(separator: "\n")
    }

    /// What migrations have made, as the `sqlcipher` shell sees it.
    private func schema(of tool: Tool) throws -> String {
        guard FileManager.default.fileExists(atPath: tool.database) else { return "" }
        let schema = try tool.shell(
            "SELECT sql || ';' FROM sqlite_schema WHERE name NOT LIKE '%grdb%' ORDER BY rowid;"
        )
        return "--- schema\n" + (schema.isEmpty ? "" : schema + "\n")
    }
}

extension Tool {
    /// Output without the temporary folder's name, and without times.
    func withoutWhatDiffers(_ output: String) -> String {
        output.replacing(folder.path, with: "FOLDER")
            .replacing(/[0-9]+(\.[0-9]+)? m?s\b/, with: "0 ms")
    }
}
