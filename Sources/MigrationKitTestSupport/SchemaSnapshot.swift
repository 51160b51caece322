import GRDB
import MigrationKitGRDB

/// A normalized schema of a database, so that equivalent schemas are equal.
struct SchemaSnapshot {
    private struct Name: Hashable {
        let type: String
        let name: String
    }

    private var objects: [Name: [SQLTokens.Line]] = [:]

    init(of database: DatabaseQueue) throws {
        objects = try database.read { db in
            try GRDBSchemaSnapshotProvider.objects(of: db).reduce(into: [:]) { objects, row in
                let name = Name(type: row["type"], name: row["name"])
                objects[name] = SQLTokens(row["sql"]).lines
            }
        }
    }

    /// The difference from the expected schema: lines that are missing (`-`) or additional (`+`);
    /// empty if there is none.
    func difference(from expected: SchemaSnapshot) -> String {
        Set(objects.keys).union(expected.objects.keys)
            .sorted { ($0.type, $0.name) < ($1.type, $1.name) }
            .flatMap { object -> [String] in
                let title = "\(object.type) \(object.name)"
                switch (expected.objects[object], objects[object]) {
                case (let before?, nil): return ["- " + Self.text(before)]
                case (nil, let after?): return ["+ " + Self.text(after)]
                case (let before?, let after?) where before != after:
                    return ["  \(title)"] + Self.changes(from: before, to: after)
                default: return []
                }
            }
            .joined(separator: "\n")
    }

    private static func text(_ lines: [SQLTokens.Line]) -> String {
        lines.reduce(into: SQLTokens.Line()) { $0.append($1) }.text
    }

    private static func changes(
        from before: [SQLTokens.Line],
        to after: [SQLTokens.Line]
    ) -> [String] {
        let difference = after.difference(from: before)
        let parts = difference.removals.map { ("-", $0) } + difference.insertions.map { ("+", $0) }
        return parts.map { sign, change in
            switch change {
            case .remove(_, let line, _), .insert(_, let line, _): "\(sign)   \(line.text)"
            }
        }
    }
}
