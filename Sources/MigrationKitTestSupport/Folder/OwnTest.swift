import Foundation
import GRDB
import MigrationKit
import MigrationKitCommon
import MigrationKitSQL

/// A file of the author's tests, with the versions that it names.
struct OwnTest {
    private let file: TestFile
    /// How many steps each part's database has.
    private let counts: [Int]

    /// - Parameter count: How many steps the version has that a text names.
    /// - Throws: ``UnusableTest``.
    init(_ file: TestFile, count: (TestFile.Version) throws -> Int) throws {
        self.file = file
        counts = try file.parts.map { try count($0.version) }
        for (part, (former, count)) in zip(file.parts.dropFirst(), zip(counts, counts.dropFirst()))
        where former > count {
            throw UnusableTest(.earlierVersion, part.version.place)
        }
    }

    /// How many steps the first part's database has. Without rows, it is any database.
    var start: Int {
        if case .writes = file.parts[0].content { counts[0] } else { 0 }
    }

    /// How many steps the last part's database has.
    var end: Int { counts.last ?? 0 }

    /// Runs the parts on a copy of a database.
    ///
    /// - Returns: A case for each query.
    func run(from database: DatabaseQueue, _ versions: CheckedVersions) throws
        -> [FolderTestReport.Case]
    {
        var cases: [FolderTestReport.Case] = []
        var database = try versions.copy(of: database)
        var former = start
        for (part, count) in zip(file.parts, counts) {
            do {
                if count > former {
                    // As after an update of the app.
                    database = try versions.copy(of: database)
                    try versions.migrate(
                        database,
                        from: former == 0 ? nil : versions.identifiers[former - 1],
                        upTo: versions.identifiers[count - 1]
                    )
                    former = count
                }
            } catch let failure as CheckFailure {
                return cases + [failed(part.version.place.line, failure)]
            }
            switch part.content {
            case .writes(let script):
                do {
                    try database.write(script.run)
                } catch {
                    let line = (error as? SQLStatementError)?.line ?? part.version.place.line
                    return cases + [failed(line, at: part.version, error)]
                }
            case .gives(let queries):
                cases += queries.map { found, expected in
                    compare(found, expected, at: part.version, in: database)
                }
            }
        }
        return cases
    }

    private func compare(
        _ query: TestFile.Query,
        _ expected: TestFile.Query,
        at version: TestFile.Version,
        in database: DatabaseQueue
    ) -> FolderTestReport.Case {
        var line = expected.line
        do {
            let (before, after) = try database.read { db in
                let before = try db.rows(of: expected.sql)
                line = query.line
                return (before, try db.rows(of: query.sql))
            }
            guard before != after else { return test(line) }
            return failed(
                line,
                "the query gives other rows after \(version.text)",
                difference: after.difference(from: before).lines,
                "If these are right, write them below '-- migrate:gives'."
            )
        } catch {
            return failed(line, at: version, error)
        }
    }

    private func test(_ line: Int) -> FolderTestReport.Case {
        FolderTestReport.Case(
            kind: .tests,
            name: "\(URL(fileURLWithPath: file.path).lastPathComponent):\(line)",
            // Not in the folder of migrations.
            file: URL(fileURLWithPath: file.path).path,
            line: line
        )
    }

    private func failed(_ line: Int, _ failure: CheckFailure) -> FolderTestReport.Case {
        var test = self.test(line)
        test.outcome = .failed(FolderTestReport.Failure(failure))
        return test
    }

    private func failed(
        _ line: Int,
        at version: TestFile.Version,
        _ error: any Error
    ) -> FolderTestReport.Case {
        let message =
            (error as? SQLStatementError)?.sqliteMessage ?? (error as? DatabaseError)?.message
            ?? error.localizedDescription
        return failed(
            line,
            "SQLite refuses this at \(version.text): \(message)",
            "Correct the statement, or the version at which it runs."
        )
    }

    private func failed(
        _ line: Int,
        _ message: String,
        difference: String = "",
        _ advice: String
    ) -> FolderTestReport.Case {
        var test = self.test(line)
        test.outcome = .failed(
            FolderTestReport.Failure(message: message, difference: difference, advice: advice)
        )
        return test
    }
}

// MARK: - Rows as SQL

extension Database {
    /// The rows of a query, each as SQL has it: `(1, 'Ada')`.
    fileprivate func rows(of sql: String) throws -> [String] {
        try Row.fetchAll(self, sql: sql).map { row in
            "(\(row.databaseValues.map(\.literal).joined(separator: ", ")))"
        }
    }
}

extension DatabaseValue {
    fileprivate var literal: String {
        switch storage {
        case .null: "NULL"
        case .int64(let number): "\(number)"
        case .double(let number): "\(number)"
        case .string(let text): "'\(text.replacing("'", with: "''"))'"
        case .blob(let data):
            "x'\(data.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())'"
        }
    }
}

extension CollectionDifference<String> {
    /// What is missing (`-`) and what is there instead (`+`), in the order of the rows.
    fileprivate var lines: String {
        let most = 20
        let lines = map { change -> (Int, String) in
            switch change {
            case .remove(let place, let row, _): (2 * place, "- \(row)")
            case .insert(let place, let row, _): (2 * place + 1, "+ \(row)")
            }
        }.sorted { $0.0 < $1.0 }.map { $0.1.replacing("\n", with: "\\n") }
        return (lines.prefix(most) + (lines.count > most ? ["  ..."] : [])).joined(separator: "\n")
    }
}
