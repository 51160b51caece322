import GRDB

/// Something that a schema needs and SQLite doesn't have: only the app's connections do.
package enum SchemaNeed: Hashable {
    case function(String), collation(String), module(String), tokenizer(String)

    /// - Parameter message: SQLite's message.
    /// - Returns: `nil` if something else is wrong.
    package init?(_ message: String) {
        for (pattern, make) in Self.patterns {
            guard let match = message.firstMatch(of: pattern) else { continue }
            self = make(String(match.1))
            return
        }
        return nil
    }

    /// Parsed once: most errors of SQLite are held against them. `Regex` isn't `Sendable`, since one may
    /// hold code of its own. These don't.
    nonisolated(unsafe) private static let patterns:
        [(Regex<(Substring, Substring)>, (String) -> SchemaNeed)] = [
            (/(?:no such|unknown) function: (.+?)(?:\(\))?$/, SchemaNeed.function),
            (/no such collation sequence: (.+)$/, SchemaNeed.collation),
            (/no such module: (.+)$/, SchemaNeed.module),
            (/(?:no such|unknown) tokenizer: (.+)$/, SchemaNeed.tokenizer),
        ]

    /// Why a table can't be checked, such as `message needs the tokenizer 'words'`.
    package func text(about table: String) -> String { "\(table) needs \(phrase)" }

    /// Such as `the function 'shout'`.
    package var phrase: String {
        switch self {
        case .function(let name): "the function '\(name)'"
        case .collation(let name): "the collation '\(name)'"
        case .module(let name): "the module '\(name)'"
        case .tokenizer(let name): "the tokenizer '\(name)'"
        }
    }
}

extension SchemaNeed {
    /// Registers what takes its place on a scratch database, where that can be: a function that returns
    /// its first argument, or a collation that compares bytes.
    package func addStandIn(to db: Database) {
        switch self {
        case .function(let name):
            db.add(function: DatabaseFunction(name, pure: true) { $0.first })
        case .collation(let name):
            db.add(collation: DatabaseCollation(name) { $0.compare($1) })
        case .module, .tokenizer: break
        }
    }
}

extension DatabaseError {
    /// What only the app's connections have, if the error is about that.
    package var need: SchemaNeed? {
        resultCode == .SQLITE_ERROR ? message.flatMap(SchemaNeed.init) : nil
    }
}

extension [String] {
    /// What couldn't be checked, in one line.
    package var uncheckedNote: String { "not checked: \(joined(separator: ", "))" }
}

extension String {
    /// A table's name as the argument of a check; `nil` if SQLite would take it for a limit.
    package var pragmaArgument: String? {
        first?.isLetter ?? false || first == "_" ? GRDBMigrationSQLHelpers.quoted(self) : nil
    }
}

extension Database {
    /// Runs `quick_check` on the whole database or, if the schema needs what this connection doesn't
    /// have, or a virtual table is damaged, on one table after the other. It doesn't look at the order of
    /// rows without rowids, by which they are found, so that `integrity_check` follows on their tables.
    /// <https://www.sqlite.org/pragma.html#pragma_quick_check>
    ///
    /// - Returns: What it finds, and the tables that it can't check, each with the reason.
    func quickCheck() throws -> (found: [String], unchecked: [String]) {
        // More than one finding is never asked for.
        let whole = "1"
        func run(_ argument: String, _ check: String = "quick_check") throws -> [String] {
            let rows = try namingUnusableTables {
                try String.fetchAll(self, sql: "PRAGMA \(check)(\(argument))")
            }
            return rows.isEmpty ? ["no answer"] : rows.filter { $0 != "ok" }
        }
        do {
            var (found, unchecked) = (try run(whole), [String]())
            if !found.isEmpty {
                let sound = try VirtualTables.findingsWithoutContent(in: self)
                // The check has ended at the first one.
                if !sound.isEmpty {
                    found = try run("\(sound.count + 1)").filter { !sound.contains($0) }
                }
                guard found.isEmpty else { return (found, []) }
            }
            let ordered = try String.fetchAll(
                self,
                sql: """
                    SELECT name FROM main.sqlite_master AS m
                    WHERE type = 'table' AND sql LIKE '%without%rowid%'
                        AND (SELECT wr FROM pragma_table_list(m.name) WHERE schema = 'main')
                    """
            )
            for table in ordered {
                guard let argument = table.pragmaArgument else { continue }
                do {
                    found += try run(argument, "main.integrity_check")
                } catch let error as DatabaseError {
                    guard let need = error.need else { throw error }
                    unchecked.append(need.text(about: table))
                }
            }
            return (found, unchecked)
        } catch let error as DatabaseError where error.need != nil || error.isOfModule {
            var (found, unchecked): ([String], [String]) = ([], [])
            let damaged = error.isOfModule ? try VirtualTables.damaged(in: self) : []
            guard error.need != nil || !damaged.isEmpty else { throw error }
            found = damaged.map(\.damage)
            let tables = try String.fetchAll(
                self,
                sql: "SELECT name FROM main.sqlite_master WHERE type = 'table' ORDER BY name"
            )
            for table in tables where !damaged.contains(where: { $0.name == table }) {
                do {
                    found += try run(table.pragmaArgument ?? whole)
                } catch let error as DatabaseError {
                    guard let need = error.need else { throw error }
                    unchecked.append(need.text(about: table))
                }
            }
            return (found, unchecked)
        }
    }
}
