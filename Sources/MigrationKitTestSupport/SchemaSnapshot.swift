import GRDB
import MigrationKitGRDB

/// A normalized schema of a database, so that equivalent schemas are equal.
struct SchemaSnapshot {
    /// By type and name.
    private var objects: [String: [SQLTokens.Line]] = [:]

    init(of database: DatabaseQueue) throws {
        objects = try database.read { db in
            try SchemaObject.own(of: db).reduce(into: [:]) { objects, object in
                objects[object.title] = SQLTokens(object.sql).lines
            }
        }
    }

    /// The difference from the expected schema: lines that are missing (`-`) or additional (`+`);
    /// empty if there is none.
    func difference(from expected: SchemaSnapshot) -> String {
        Set(objects.keys).union(expected.objects.keys)
            .sorted()
            .flatMap { title -> [String] in
                switch (expected.objects[title], objects[title]) {
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
