import GRDB
import MigrationKit
import MigrationKitGRDB

/// A normalized schema of a database, so that equivalent schemas are equal.
struct SchemaSnapshot {
    /// By type and name.
    private var objects: [String: SchemaObject] = [:]

    init(of database: DatabaseQueue) throws {
        objects = try database.read { db in
            try SchemaObject.ownInAnyOrder(of: db).reduce(into: [:]) { objects, object in
                objects[object.title] = object
            }
        }
    }

    /// The tables, by their names in lower case.
    var tableNames: Set<String> {
        Set(objects.values.lazy.filter { $0.kind == .table }.map(\.name.foldedName))
    }

    /// The objects that another schema has otherwise or not at all, and those that only it has.
    func objects(otherThanIn other: SchemaSnapshot) -> [SchemaObject] {
        let titles = Set(objects.keys).union(other.objects.keys)
        return titles.filter { objects[$0] != other.objects[$0] }
            .flatMap { [objects[$0], other.objects[$0]].compactMap { $0 } }
    }

    /// The names in what one of the two schemas has otherwise or not at all, in lower case.
    func names(inObjectsOtherThanIn other: SchemaSnapshot) -> Set<String> {
        objects(otherThanIn: other).reduce(into: []) { names, object in
            names.formUnion(SQLTokens(object.sql).tokens.filter(\.isName).map(\.name))
        }
    }

    /// The difference from the expected schema: lines that are missing (`-`) or additional (`+`);
    /// empty if there is none.
    func difference(from expected: SchemaSnapshot) -> String {
        Set(objects.keys).union(expected.objects.keys)
            // Most are the same to the letter.
            .filter { objects[$0]?.sql != expected.objects[$0]?.sql }
            .sorted()
            .flatMap { title -> [String] in
                switch (lines(of: title, in: expected), lines(of: title, in: self)) {
                case (let before?, nil): return ["- " + Self.text(before)]
                case (nil, let after?): return ["+ " + Self.text(after)]
                case (let before?, let after?) where before != after:
                    return ["  \(title)"] + Self.changes(from: before, to: after)
                default: return []
                }
            }
            .joined(separator: "\n")
    }

    private func lines(of title: String, in schema: SchemaSnapshot) -> [SQLTokens.Line]? {
        schema.objects[title].map { SQLTokens($0.sql).lines }
    }

    private static func text(_ lines: [SQLTokens.Line]) -> String {
        lines.reduce(into: SQLTokens.Line()) { $0.append($1) }.text
    }

    private static func changes(
        from before: [SQLTokens.Line],
        to after: [SQLTokens.Line]
    ) -> [String] {
        let difference = after.difference(from: before)
        func lines(_ changes: [CollectionDifference<SQLTokens.Line>.Change]) -> [String] {
            changes.map { change in
                switch change {
                case .remove(_, let line, _), .insert(_, let line, _): line.text
                }
            }
        }
        let (removed, inserted) = (lines(difference.removals), lines(difference.insertions))
        let moved = removed.filter(inserted.contains)
        return removed.filter { !moved.contains($0) }.map { "-   \($0)" }
            + inserted.filter { !moved.contains($0) }.map { "+   \($0)" }
            + moved.map { "    \($0) (in another place)" }
    }
}
