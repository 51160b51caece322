import MigrationKitSchema

/// A view or trigger that SQLite doesn't compile.
struct BrokenObject: Equatable {
    let name: String
    let isView: Bool
    /// SQLite's message.
    let message: String

    /// Its kind and name in lower case.
    var key: String { Self.key(name, isView: isView) }

    static func key(_ name: String, isView: Bool) -> String {
        (isView ? "view " : "trigger ") + name.foldedName
    }
}

extension ScratchDatabase {
    /// The views and triggers that SQLite doesn't compile.
    ///
    /// - Parameter keys: Those to compile; `nil` for all.
    func brokenObjects(among keys: Set<String>? = nil, in schema: SchemaModel) -> [BrokenObject] {
        func isMeant(_ name: String, isView: Bool) -> Bool {
            keys?.contains(BrokenObject.key(name, isView: isView)) ?? true
        }
        let views = schema.views.values.filter { isMeant($0.name, isView: true) }
            .sorted { $0.name < $1.name }
        let triggers = schema.triggers.values.filter { isMeant($0.name, isView: false) }
            .sorted { $0.name < $1.name }
        return views.compactMap { view in
            let name = GRDBMigrationSQLHelpers.quoted(view.name)
            return failure(of: "SELECT * FROM main.\(name)").map {
                BrokenObject(name: view.name, isView: true, message: $0.message)
            }
        }
            + triggers.compactMap { trigger in
                schema.statement(firing: trigger).flatMap(failure).map {
                    BrokenObject(name: trigger.name, isView: false, message: $0.message)
                }
            }
    }

    /// How compiling fails, but not for what only the app has.
    private func failure(of sql: String) -> StatementFailure? {
        compile(sql).flatMap { $0.lack == nil ? $0 : nil }
    }
}

extension SchemaModel {
    func has(_ object: BrokenObject) -> Bool {
        object.isView ? view(object.name) != nil : trigger(object.name) != nil
    }

    /// The names of the tables, views and triggers that differ from another schema, in lower case.
    func changedNames(since before: SchemaModel) -> Set<String> {
        let changed = changes(since: before).compactMap { $0.new ?? $0.old }
        return Set(changed.filter { $0.kind != .index }.map(\.name.foldedName))
    }

    fileprivate func words(of definition: String) -> Set<String> {
        // Only a name in quotes has spaces, and reading tokens takes longer.
        guard !definition.contains("\"") else { return SQLTokens(definition).allNames }
        return Set(definition.split(separator: " ").map { String($0).foldedName })
    }

    /// The views and triggers that name some objects, also by other views, as keys.
    func objects(reading names: Set<String>) -> Set<String> {
        var names = names
        var found: Set<String> = []
        let viewWords = views.mapValues { words(of: $0.definition) }
        var isGrowing = true
        while isGrowing {
            isGrowing = false
            for (name, words) in viewWords
            where !words.isDisjoint(with: names)
                && found.insert(BrokenObject.key(name, isView: true)).inserted
            {
                names.insert(name)
                isGrowing = true
            }
        }
        for (name, trigger) in triggers where !words(of: trigger.definition).isDisjoint(with: names)
        {
            found.insert(BrokenObject.key(name, isView: false))
        }
        return found
    }
}

extension SchemaModel {
    /// A statement into which SQLite compiles a trigger.
    fileprivate func statement(firing trigger: Trigger) -> String? {
        let words = SQLTokens(trigger.definition).tokens.map(\.text)
        // Before the event are CREATE TRIGGER, the name, and when it fires.
        guard
            let event = words.dropFirst(3).first(where: {
                ["insert", "update", "delete"].contains($0)
            })
        else { return nil }
        let table = "main." + GRDBMigrationSQLHelpers.quoted(trigger.table)
        switch event {
        case "insert": return "INSERT INTO \(table) DEFAULT VALUES"
        case "delete": return "DELETE FROM \(table)"
        default:
            let of = words.dropFirst(3).firstIndex(of: event).map { $0 + 1 }
            guard let of, words.indices.contains(of + 1), words[of] == "of" else {
                guard
                    let column = self.table(trigger.table)?.columns.first(where: {
                        $0.generated == nil && !$0.isHidden
                    })
                else { return nil }
                let name = GRDBMigrationSQLHelpers.quoted(column.name)
                return "UPDATE \(table) SET \(name) = \(name)"
            }
            return "UPDATE \(table) SET \(words[of + 1]) = NULL"
        }
    }
}
