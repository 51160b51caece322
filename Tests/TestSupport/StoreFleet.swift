import Foundation
import Testing

/// Many stores in a folder of a test's own, each with its key in a file beside it.
///
/// They are copies of one store, with its key: making the first one takes as long as all others.
public struct StoreFleet<Tool: FolderTool>: Sendable {
    /// The tool in their folder.
    public let tool: Tool
    /// The folder.
    public var folder: TemporaryFolder { tool.folder }

    /// - Parameters:
    ///   - count: How many there are: `stores/s00.db` and so on.
    ///   - applied: The last migration of ``FolderTool/writeItems()`` that they have; all three are
    ///     there to be applied.
    public init(count: Int, applied: String = "0002_row") throws {
        tool = try Tool(isRawKey: true)
        try tool.writeItems()
        #expect(try tool.onStore("migrate", "--to", applied).status == 0)
        try folder.makeFolder("stores")
        for number in 0..<count { try add(Self.name(number)) }
    }

    /// The name of the store with a number.
    public static func name(_ number: Int) -> String {
        "s" + String("00\(number)".suffix(max(2, "\(number)".count)))
    }

    /// The path of a store.
    public func path(_ name: String) -> String { folder.path("stores/\(name).db") }

    /// Adds a copy of the store, with its key.
    public func add(_ name: String) throws {
        try FileManager.default.copyItem(atPath: tool.database, toPath: path(name))
        try folder.write("stores/\(name).db.key", tool.password.utf8)
    }

    /// What names all stores, and their keys.
    public var all: [String] { ["--stores", folder.path("stores/*.db")] + besideStores }

    /// What names the keys.
    public let besideStores = ["--key-file-suffix", ".key", "--raw-key"]

    /// Runs a fleet command.
    public func run(_ command: String, _ arguments: [String]) throws -> ProcessResult {
        try tool.run(self.arguments(command, arguments))
    }

    /// The words of a fleet command.
    public func arguments(_ command: String, _ arguments: [String]) -> [String] {
        ["fleet", command] + arguments + ["--migrations", tool.migrations]
    }

    /// The lines of a report, the last one of each store.
    public func report(_ name: String) throws -> [String: [String: Any]] {
        let lines = String(decoding: try folder.data(name), as: UTF8.self)
        #expect(!lines.contains(tool.password))
        var records: [String: [String: Any]] = [:]
        for line in lines.split(separator: "\n") {
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
            let record = try #require(object as? [String: Any])
            records[try #require(record["store"] as? String)] = record
        }
        return records
    }

    /// What the ledger of a store has, as another program reads it.
    public func ledger(_ name: String) throws -> String {
        try SQLCipherShell.run(
            path(name),
            key: "x'\(tool.password)'",
            "SELECT group_concat(identifier) FROM (SELECT * FROM grdb_migrations ORDER BY 1);"
        )
    }
}

extension [String: [String: Any]] {
    /// The outcome of a store.
    public func outcome(_ name: String) -> String? { self[name]?["outcome"] as? String }

    /// The code of a store's error.
    public func code(_ name: String) -> String? {
        (self[name]?["error"] as? [String: Any])?["code"] as? String
    }
}
