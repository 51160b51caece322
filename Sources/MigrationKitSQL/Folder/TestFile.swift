import GRDB
import MigrationKit
import MigrationKitCommon

/// A file with tests: what is written at a version, and what queries give after others.
///
/// ```sql
/// -- migrate:at 0007_users
/// INSERT INTO users (id, name) VALUES (1, 'Ada');
/// -- migrate:after 0012_full_name
/// SELECT id, full_name FROM users;
/// -- migrate:gives
/// VALUES (1, 'Ada');
/// ```
package struct TestFile: Sendable {
    /// A part, with the version that its marker names.
    package struct Part: Sendable {
        package let version: Version
        package let content: Content
    }

    /// What was written after the marker: an identifier, or the beginning of one.
    package struct Version: Sendable {
        package let text: String
        package let place: SQLPlace
    }

    package enum Content: Sendable {
        /// `-- migrate:at`
        case writes(Script)
        /// `-- migrate:after`, each query with that of `-- migrate:gives`.
        case gives([(found: Query, expected: Query)])
    }

    package struct Script: Sendable {
        fileprivate let script: SQLScript

        /// - Throws: ``SQLStatementError`` if SQLite refuses a statement.
        package func run(in db: Database) throws { try script.run(in: db) }
    }

    package struct Query: Sendable {
        package let sql: String
        /// From 1.
        package let line: Int
    }

    /// The file's name in errors: its folder's path and its own.
    package let path: String

    package let parts: [Part]

    /// Reads the `.sql` files of a folder, in the order of their names.
    ///
    /// - Parameters:
    ///   - path: The folder's path.
    ///   - ofStranger: Whether no link may leave the folder's repository.
    /// - Throws: ``UnusableTest``; ``MigrationFolderError`` for what can't be read.
    package static func inFolder(_ path: String, ofStranger: Bool) throws -> [TestFile] {
        let folder = SQLFolder(named: path, ofStranger: ofStranger)
        return try folder.sqlFiles().map { try TestFile(folder.read($0)) }
    }

    private init(_ file: SQLFile) throws {
        path = file.name
        let outline = try SQLOutline(of: file) { comment, isAtLineStart in
            // Every other marker would be ignored.
            let isMarker = comment.dropFirst(2).trimmingPrefix(while: \.isWhitespace).lowercased()
                .hasPrefix("migrate:")
            return isMarker && (!isAtLineStart || Marker(comment) == nil) ? .slip : .comment
        }
        var reader = PartReader(outline)
        for comment in outline.lineComments {
            guard let marker = Marker(file.text(in: comment)) else { continue }
            try reader.begin(marker, at: comment)
        }
        try reader.end(at: file.bytes.count)
        parts = reader.parts
    }

    // MARK: - Markers

    fileprivate enum Marker {
        case at(String)
        case after(String)
        case gives

        /// - Returns: `nil` for every other comment.
        init?(_ comment: String) {
            let words = comment.dropFirst(2)
                .split(maxSplits: 1, whereSeparator: \.isWhitespace).map(String.init)
            let version = words.dropFirst().first?.trimmingPrefix(while: \.isWhitespace) ?? ""
            let text = String(version.reversed().drop(while: \.isWhitespace).reversed())
            switch words.first {
            case "migrate:at": self = .at(text)
            case "migrate:after": self = .after(text)
            case "migrate:gives" where text.isEmpty: self = .gives
            default: return nil
            }
        }
    }

    /// Collects the statements of each part.
    private struct PartReader {
        private let outline: SQLOutline
        private var current: (marker: Marker, range: Range<Int>)?
        /// The queries after `-- migrate:after`, as long as it isn't known what they give.
        private var open: (version: Version, queries: [Query])?
        private(set) var parts: [Part] = []

        init(_ outline: SQLOutline) { self.outline = outline }

        mutating func begin(_ marker: Marker, at range: Range<Int>) throws {
            if let unfinished = outline.statements.first(where: {
                $0.range.contains(range.lowerBound)
            }) {
                throw fault(.unfinishedStatement, at: unfinished.range.lowerBound)
            }
            try end(at: range.lowerBound)
            current = (marker, range)
        }

        mutating func end(at end: Int) throws {
            let file = outline.file
            let start = current?.range.upperBound ?? 0
            let statements = outline.statements.filter {
                $0.range.lowerBound >= start && $0.range.lowerBound < end
            }
            guard let (marker, range) = current else {
                if let first = statements.first {
                    throw fault(.statementBeforeMarker, at: first.range.lowerBound)
                }
                if end == file.bytes.count { throw fault(.noMarker, at: 0) }
                return
            }
            switch marker {
            case .at(let text), .after(let text):
                if let open {
                    throw UnusableTest(.noGives, open.version.place)
                }
                let version = Version(text: text, place: file.place(at: range.lowerBound))
                guard !text.isEmpty else { throw UnusableTest(.noVersion, version.place) }
                guard case .after = marker else {
                    try checkAllowed(statements)
                    let script = SQLScript(file: file, ranges: [start..<end])
                    parts.append(Part(version: version, content: .writes(Script(script: script))))
                    return
                }
                open = (version, try queries(statements, at: range))
                if end == file.bytes.count { throw UnusableTest(.noGives, version.place) }
            case .gives:
                guard let open else { throw fault(.givesWithoutAfter, at: range.lowerBound) }
                let expected = try queries(statements, at: range)
                guard expected.count == open.queries.count else {
                    throw fault(.otherNumberOfQueries, at: range.lowerBound)
                }
                parts.append(
                    Part(
                        version: open.version,
                        content: .gives(
                            zip(open.queries, expected).map { (found: $0, expected: $1) }
                        )
                    )
                )
                self.open = nil
            }
        }

        private func queries(
            _ statements: [SQLOutline.Statement],
            at marker: Range<Int>
        ) throws -> [Query] {
            guard !statements.isEmpty else { throw fault(.noQuery, at: marker.lowerBound) }
            return try statements.map { statement in
                let sql = outline.file.sql(of: statement)
                guard CheckQuery.isQuery(sql) else {
                    throw fault(.notAQuery, at: statement.range.lowerBound)
                }
                return Query(sql: sql, line: outline.file.line(at: statement.range.lowerBound))
            }
        }

        private func checkAllowed(_ statements: [SQLOutline.Statement]) throws {
            for statement in statements {
                guard let kind = RefusedStatement(words: statement.words) else { continue }
                throw fault(.refused(kind), at: statement.range.lowerBound)
            }
        }

        private func fault(_ fault: UnusableTest.Fault, at place: Int) -> UnusableTest {
            UnusableTest(fault, outline.file.place(at: place))
        }
    }
}

// MARK: - Unusable Test

/// Why a file of tests can't be used.
package struct UnusableTest: CodedError, Equatable {
    package enum Fault: Equatable, Sendable {
        case noMarker
        case statementBeforeMarker
        case noVersion
        case unknownVersion(String)
        /// The store has a later version by then.
        case earlierVersion
        case unfinishedStatement
        case refused(RefusedStatement)
        case noQuery
        case notAQuery
        case noGives
        case givesWithoutAfter
        case otherNumberOfQueries
    }

    package let fault: Fault
    package let place: SQLPlace

    package init(_ fault: Fault, _ place: SQLPlace) { (self.fault, self.place) = (fault, place) }

    package var code: ErrorCode { ErrorCode("unusableTest", .dataError) }

    package var errorDescription: String? { "\(place): \(reason)" }

    private var reason: String {
        switch fault {
        case .noMarker: "there is no test in this file"
        case .statementBeforeMarker: "this statement is before the first marker"
        case .noVersion: "the marker names no version"
        case .unknownVersion(let text): "there is no migration '\(text)'"
        case .earlierVersion: "the database has a later version by then"
        case .unfinishedStatement: "this statement has no semicolon before the next marker"
        case .refused(let kind): "a test can't contain \(kind.name)"
        case .noQuery: "there is no query"
        case .notAQuery: "this is no query"
        case .noGives: "there is no '-- migrate:gives' for this"
        case .givesWithoutAfter: "there is no '-- migrate:after' before this"
        case .otherNumberOfQueries: "there are more or fewer queries than after '-- migrate:after'"
        }
    }

    package var recoverySuggestion: String? {
        switch fault {
        case .noMarker, .statementBeforeMarker, .noGives, .givesWithoutAfter:
            """
            Write the statements below '-- migrate:at VERSION', the queries below \
            '-- migrate:after VERSION', and below '-- migrate:gives' what they give.
            """
        case .noVersion, .unknownVersion: "Name a migration, or the number at its beginning."
        case .earlierVersion:
            "The versions in a file ascend. Put what is tested at another one into another file."
        case .unfinishedStatement: "End it with a semicolon."
        case .refused: "Remove it. Each part runs in a transaction on a database in memory."
        case .noQuery, .notAQuery:
            "Write a SELECT or VALUES. Statements that write belong below '-- migrate:at VERSION'."
        case .otherNumberOfQueries:
            "Write one query for each, in the same order; for no row, SELECT ... WHERE false."
        }
    }
}
