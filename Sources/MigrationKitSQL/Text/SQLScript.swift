import Foundation
import GRDB
import GRDBSQLite
import MigrationKit
import MigrationKitCommon

/// A part of a file that runs as a whole: it applies a step, or rolls it back.
struct SQLScript: Sendable {
    let file: SQLFile

    /// The positions of its pieces in the file, in the order in which they run.
    let ranges: [Range<Int>]

    /// Runs the statements one by one.
    ///
    /// Each one is compiled after the one before it has run, since it may need its result. Rows are
    /// discarded.
    ///
    /// - Throws: ``SQLStatementError`` with the place in the file, if SQLite refuses a statement, or
    ///   reads several where one was judged.
    func run(in db: Database) throws {
        try Self.refuseExports(on: db)
        for range in ranges {
            for statement in SQLStatementBoundary.statements(in: file.bytes, range: range) {
                try run(statement, in: db)
            }
        }
    }

    /// `sqlcipher_export` runs the texts of a schema as statements, which nobody has judged: a step
    /// may have written them. From here on the connection has a function of this name that refuses.
    private static func refuseExports(on db: Database) throws {
        // Once is enough. SQLite replaces no function while a statement runs, and a full-text table may
        // have one that does.
        let mark = "migrationkit_refuses_exports"
        guard (try? db.makeStatement(sql: "SELECT \(mark)()")) == nil else { return }
        for (name, count) in [("sqlcipher_export", 1), ("sqlcipher_export", 2), (mark, 0)] {
            let code = sqlite3_create_function_v2(
                db.sqliteConnection,
                name,
                Int32(count),
                SQLITE_UTF8,
                nil,
                { context, _, _ in
                    sqlite3_result_error(context, "a migration can't use sqlcipher_export()", -1)
                },
                nil,
                nil,
                nil
            )
            guard code == SQLITE_OK else {
                throw DatabaseError(resultCode: ResultCode(rawValue: code))
            }
        }
    }

    private func run(_ range: Range<Int>, in db: Database) throws {
        let statement = try compile(range, in: db)
        do {
            try checkHasNoParameters(statement)
            try statement.execute()
        } catch let error as DatabaseError {
            throw failure(error, from: range.lowerBound, tokenOffset: nil)
        }
    }

    private func compile(_ range: Range<Int>, in db: Database) throws -> Statement {
        do {
            // What was not judged isn't compiled either: SQLCipher's own pragmas do their work then.
            let text = file.text(in: range)
            let statement = try db.allStatements(sql: text).next()
            guard let statement, let read = sqlite3_sql(statement.sqliteStatement),
                text.isBlank(from: strlen(read))
            else { throw DatabaseError(message: "SQLite reads another statement here") }
            return statement
        } catch let error as DatabaseError {
            // The offset of the token that SQLite reports, from the statement's first byte:
            // https://www.sqlite.org/c3ref/errcode.html
            let offset = Int(sqlite3_error_offset(db.sqliteConnection))
            throw failure(error, from: range.lowerBound, tokenOffset: offset >= 0 ? offset : nil)
        }
    }

    /// Throws if there are parameters: SQLite would bind NULL to them.
    private func checkHasNoParameters(_ statement: Statement) throws {
        guard sqlite3_bind_parameter_count(statement.sqliteStatement) == 0 else {
            throw DatabaseError(message: "a migration has no values to bind to parameters")
        }
    }

    private func failure(
        _ error: DatabaseError,
        from position: Int,
        tokenOffset: Int?
    ) -> SQLStatementError {
        let place = tokenOffset.map { position + $0 } ?? firstToken(from: position)
        return SQLStatementError(
            file: file.name,
            line: file.line(at: place),
            column: tokenOffset == nil ? nil : file.column(at: place),
            sqliteMessage: error.message ?? "\(error.resultCode)",
            resultCode: error.extendedResultCode,
            sourceLine: file.sourceLine(at: place),
            statement: SQLSubject(file.bytes, in: position..<file.bytes.count)?.description
        )
    }

    /// The first token of a statement at or after a position.
    private func firstToken(from position: Int) -> Int {
        SQLTokenizer(file.bytes, in: position..<file.bytes.count)
            .first { ![.space, .lineComment, .blockComment, .semicolon].contains($0.kind) }?
            .range.lowerBound ?? position
    }
}

extension SQLScript {
    /// Changes whenever the SQL does, but not if only comments, white space or the semicolon after
    /// the last statement change.
    ///
    /// It is the SHA-256 of the tokens, in hexadecimal digits. The algorithm can't change any more,
    /// since databases store the result. The prefix with its name leaves room for another
    /// algorithm.
    ///
    /// - Returns: `nil` if there is no memory.
    var checksum: String? {
        var bytes: [UInt8] = []
        for range in ranges {
            /// The end of the last token that isn't a semicolon.
            var end = bytes.count
            for token in SQLTokenizer(file.bytes, in: range)
            where ![.space, .lineComment, .blockComment].contains(token.kind) {
                var text = file.bytes[token.range]
                // These were once two tokens.
                if token.kind == .word,
                    [":", "@", "#"].map(UInt8.init(ascii:)).contains(text.first)
                {
                    bytes += [text.removeFirst(), 0]
                }
                bytes += text
                // No token contains a NUL, so this separates them.
                bytes.append(0)
                if token.kind != .semicolon { end = bytes.count }
            }
            bytes.removeSubrange(end...)
        }
        guard let digest = Digest.sha256(bytes) else { return nil }
        let digits = Array("0123456789abcdef".utf8)
        var text = Array("sha256:".utf8)
        for byte in digest {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The SQL as written in the file.
    var text: String {
        ranges.map { file.text(in: $0).trimmingBlankLines() }.filter { !$0.isEmpty }
            .joined(separator: "\n\n")
    }
}

extension String {
    /// The text without empty lines at the beginning, and without white space at the end.
    fileprivate func trimmingBlankLines() -> String {
        var lines = split(separator: "\n", omittingEmptySubsequences: false)[...]
        while lines.first?.allSatisfy(\.isWhitespace) == true { lines.removeFirst() }
        while lines.last?.allSatisfy(\.isWhitespace) == true { lines.removeLast() }
        return lines.joined(separator: "\n")
    }
}
