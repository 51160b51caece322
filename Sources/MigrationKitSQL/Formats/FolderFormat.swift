import Foundation
import MigrationKit

/// Everything about one format: its texts, how its files are recognized and read, and what a new
/// migration looks like.
///
/// A format implements only what differs from most formats.
protocol FolderFormat: Sendable {
    // MARK: Texts

    /// The format as the end of a sentence about a file.
    var phrase: String { get }

    /// The files of a migration, in one line of the manual.
    var files: String { get }

    /// The files of a migration, in a message that lists all formats.
    var example: String { get }

    /// How a migration says that it runs outside of a transaction; `nil` if it can't.
    var wayOutOfTransaction: String? { get }

    // MARK: Recognition

    /// Reads the name of an SQL file.
    ///
    /// - Returns: `nil` if it is not a name of this format. Names such as `0001_name.sql` belong to
    ///   several formats: see ``MigrationFileName/format``.
    func fileName(_ name: String) -> MigrationFileName?

    /// The files of a folder in the migrations folder.
    ///
    /// - Returns: None if the folder is not a migration of this format.
    /// - Throws: ``MigrationFolderError`` for a file that doesn't belong there.
    func fileNames(
        inFolder folder: String,
        contents: () throws -> [String]
    ) throws -> [MigrationFileName]

    /// Reads a line comment.
    ///
    /// - Parameters:
    ///   - comment: The comment, with its two dashes.
    ///   - isAtLineStart: Whether nothing, not even space, precedes it.
    func marker(in comment: String, isAtLineStart: Bool) -> MigrationMarker.Reading

    /// The markers, in the advice about a misspelled one; `nil` if the format has none.
    var markers: String? { get }

    // MARK: Parts

    /// The path of a further file that belongs to a migration, if the format has one.
    func metadataPath(of identifier: String) -> String?

    /// Finds the parts of a migration.
    ///
    /// - Parameters:
    ///   - up: The file that applies the step, or has both parts.
    ///   - down: The file that takes it back.
    ///   - metadata: The further file, see ``metadataPath(of:)``.
    /// - Throws: ``MigrationFolderError`` for what is wrong in this format.
    func parts(up: SQLOutline, down: SQLOutline?, metadata: SQLFile?) throws -> MigrationParts

    // MARK: Versions

    /// Reads a version as `create` writes it, or as a version table has it.
    func version(of text: String) -> MigrationVersion?

    // MARK: New migrations

    /// What the first migration's number comes after.
    var zero: String { get }

    /// The number at the beginning of an identifier.
    func number(in identifier: String) -> String

    /// The identifier of a new migration.
    func identifier(number: String, words: String) -> String

    /// The files of a new migration, with the paths in the folder. The first one applies it.
    ///
    /// - Parameters:
    ///   - identifier: The migration's identifier.
    ///   - takesBack: Whether the folder's migrations have a part that takes them back.
    ///   - sql: What is in it; empty in a template.
    func files(for identifier: String, takesBack: Bool, sql: NewMigrationSQL)
        -> [(path: String, text: String)]

    /// A statement as it is written into a file, with its semicolon.
    func text(of statement: String) -> String
}

extension MigrationFormat {
    /// The one place that connects a case with its implementation.
    var implementation: any FolderFormat {
        switch self {
        case .dbmate: DbmateFormat()
        case .goose: GooseFormat()
        case .pairs: PairFormat()
        case .upOnly: UpOnlyFormat()
        case .diesel: DieselFormat()
        case .flyway: FlywayFormat()
        }
    }

    static let implementations = allCases.map(\.implementation)

    /// The files of a migration, in one line.
    package var files: String { implementation.files }

    /// How a migration says that it runs outside of a transaction; `nil` if it can't.
    package var wayOutOfTransaction: String? { implementation.wayOutOfTransaction }
}

// MARK: - What most formats have

extension FolderFormat {
    func fileName(_ name: String) -> MigrationFileName? { nil }

    func fileNames(
        inFolder folder: String,
        contents: () throws -> [String]
    ) throws -> [MigrationFileName] { [] }

    func marker(in comment: String, isAtLineStart: Bool) -> MigrationMarker.Reading { .comment }

    var markers: String? { nil }

    func metadataPath(of identifier: String) -> String? { nil }

    func version(of text: String) -> MigrationVersion? {
        // A Flyway version may have several numbers.
        guard text.wholeMatch(of: FilePattern.version) != nil else { return nil }
        return MigrationVersion(of: text, separators: ".")
    }

    var zero: String { "0000" }

    func number(in identifier: String) -> String {
        String(identifier.prefix { ("0"..."9").contains($0) })
    }

    func identifier(number: String, words: String) -> String { "\(number)_\(words)" }

    func text(of statement: String) -> String { statement.terminated + "\n" }

    /// Statements with an empty line after each.
    func text(of statements: [String]) -> String {
        statements.map(text(of:)).joined(separator: "\n")
    }
}

extension FolderFormat {
    /// The text of a new file that applies a migration, in a format without markers.
    func upComment(_ identifier: String) -> String { "-- Applies \(identifier).\n" }

    /// The text of a new file that takes a migration back, in a format without markers.
    func downComment(_ identifier: String) -> String { "-- Takes \(identifier) back.\n" }

    /// Whether the file that applies a migration still has only its template. White space around it
    /// doesn't count, nor does a new name of the file.
    func isTemplate(_ file: SQLFile) -> Bool {
        // No file has a NUL character, so it can stand for the name.
        let template = files(for: "\0", takesBack: true, sql: NewMigrationSQL())[0].text
            .trimmingCharacters(in: .whitespacesAndNewlines)
            .split(separator: "\0", omittingEmptySubsequences: false)
        let text = file.text(in: 0..<file.bytes.count)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        guard template.count == 2 else { return text == template[0] }
        return text.hasPrefix(template[0]) && text.hasSuffix(template[1])
            && !text.dropFirst(template[0].count).contains(" ")
    }
}

// MARK: - Pair Format

/// `0001_name.up.sql` and `0001_name.down.sql`, one part each.
///
/// <https://github.com/golang-migrate/migrate/blob/master/MIGRATIONS.md>; sqlx has them too.
struct PairFormat: FolderFormat {
    let phrase = "is one of a pair"
    let files = "0001_name.up.sql and 0001_name.down.sql, of golang-migrate and sqlx"
    let example = "0001_name.up.sql and 0001_name.down.sql"
    let wayOutOfTransaction: String? = NoTransactionLine.phrase

    func files(for identifier: String, takesBack: Bool, sql: NewMigrationSQL)
        -> [(path: String, text: String)]
    {
        [
            ("\(identifier).up.sql", upComment(identifier) + text(of: sql.up)),
            ("\(identifier).down.sql", downComment(identifier) + text(of: sql.down)),
        ]
    }

    /// The endings `.up.sql` and `.down.sql` after a number, or else golang-migrate's own rule, where
    /// anything may follow the direction, such as `1_name.up.db.sql`.
    /// <https://github.com/golang-migrate/migrate/blob/master/source/parse.go>
    func fileName(_ name: String) -> MigrationFileName? {
        let lowercased = name.lowercased()
        let endings: [(String, MigrationFileName.Role)] = [(".up.sql", .up), (".down.sql", .down)]
        guard let version = MigrationFileName.number(of: name) else { return nil }
        func file(_ role: MigrationFileName.Role, _ identifier: some StringProtocol)
            -> MigrationFileName
        {
            MigrationFileName(
                path: name,
                format: .pairs,
                role: role,
                identifier: String(identifier),
                version: version
            )
        }
        if let (ending, role) = endings.first(where: { lowercased.hasSuffix($0.0) }) {
            return file(role, name.dropLast(ending.count))
        }
        return name.wholeMatch(of: FilePattern.pair).map {
            file($0.2 == "up" ? .up : .down, $0.1)
        }
    }

    func parts(up: SQLOutline, down: SQLOutline?, metadata: SQLFile?) throws -> MigrationParts {
        let outside = try [up, down].compactMap { $0 }.map(NoTransactionLine.isFirst)
        return MigrationParts(
            up: try .init(whole: up),
            down: try down.map { try .init(whole: $0) },
            usesTransaction: !outside.contains(true)
        )
    }
}

/// sqlx's `-- no-transaction` on the first line of a file.
///
/// <https://docs.rs/sqlx/latest/sqlx/macro.migrate.html>
enum NoTransactionLine {
    static let phrase = "has as its first line: -- no-transaction"

    /// Whether the line is there.
    ///
    /// - Throws: ``MigrationFolderError/misplacedNoTransaction(at:)`` if it is on another line, or
    ///   misspelled.
    static func isFirst(in outline: SQLOutline) throws -> Bool {
        let isFirst: (Range<Int>) -> Bool = { range in
            range.lowerBound == 0
                && outline.file.text(in: range).wholeMatch(of: FilePattern.noTransaction) != nil
        }
        for range in outline.lineComments where !isFirst(range) {
            let comment = outline.file.text(in: range)
            guard comment.lowercased().contains("transaction") else { continue }
            guard comment.wholeMatch(of: FilePattern.noTransactionSlip) == nil else {
                throw MigrationFolderError.misplacedNoTransaction(
                    at: outline.file.place(at: range.lowerBound)
                )
            }
        }
        return outline.lineComments.first.map(isFirst) ?? false
    }
}

// MARK: - Up Only Format

/// `0001_name.sql` without a marker: it applies the step. The step can't be rolled back.
///
/// <https://docs.rs/sqlx/latest/sqlx/macro.migrate.html>
struct UpOnlyFormat: FolderFormat {
    let phrase = "has no marker"
    let files = "0001_name.sql without a marker, of sqlx: no rollback"
    let example = "0001_name.sql, without a rollback"
    let wayOutOfTransaction: String? = NoTransactionLine.phrase

    func files(for identifier: String, takesBack: Bool, sql: NewMigrationSQL)
        -> [(path: String, text: String)]
    {
        [("\(identifier).sql", upComment(identifier) + text(of: sql.up))]
    }

    func parts(up outline: SQLOutline, down: SQLOutline?, metadata: SQLFile?) throws
        -> MigrationParts
    {
        try Self.checkForOtherMarkers(outline)
        return MigrationParts(
            up: try .init(whole: outline),
            down: nil,
            usesTransaction: try !NoTransactionLine.isFirst(in: outline)
        )
    }

    /// A comment that is only `Down` or `+migrate Down`, followed by statements, is a marker of an
    /// unknown tool. The SQL of the rollback must not run at the end of the step.
    static func checkForOtherMarkers(_ outline: SQLOutline) throws {
        guard let last = outline.statements.last else { return }
        for range in outline.lineComments where range.lowerBound < last.range.lowerBound {
            let comment = outline.file.text(in: range)
            guard comment.wholeMatch(of: FilePattern.strangeDown) != nil else { continue }
            throw MigrationFolderError.misspeltMarker(
                comment.withoutControlCharacters,
                at: outline.file.place(at: range.lowerBound)
            )
        }
    }
}
