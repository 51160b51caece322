import Foundation

/// A reason for which a folder of SQL files can't be used.
///
/// All of them are found when the folder is read, before any database is opened. `file` is the
/// name of a file in the folder, `line` counts from 1.
public enum MigrationFolderError: Error, Equatable, Sendable {
    // MARK: The folder

    /// There is nothing at the path.
    case noSuchFolder(path: String)

    /// There is something other than a folder at the path.
    case notAFolder(path: String)

    /// The folder has no migrations in it.
    case empty(path: String)

    // MARK: The files' names

    /// The name of an SQL file doesn't begin with a number.
    case unexpectedName(file: String)

    /// Several files define the same migration.
    case duplicateIdentifier(String, files: [String])

    /// Some migrations are one file, others are two.
    case mixedLayouts(single: String, pair: String)

    /// A `.down.sql` has no `.up.sql`.
    case downWithoutUp(file: String)

    /// Two identifiers whose numbers descend while their text ascends.
    case numbersOutOfOrder(String, String)

    // MARK: The files' text

    /// A file, or the folder, can't be read.
    case unreadable(file: String, reason: String)

    /// A file isn't UTF-8.
    case notUTF8(file: String, line: Int)

    /// A file has a NUL character, at which SQLite would stop reading.
    case nulCharacter(file: String, line: Int)

    /// A literal, a comment or a trigger that begins at the line has no end.
    case unterminatedStatement(file: String, line: Int, missing: String)

    /// A statement that a migration must not contain.
    case refusedStatement(file: String, line: Int, kind: RefusedStatement)

    /// There is nothing to apply: no statement, or comments only.
    case emptyUpPart(file: String)

    // MARK: Markers

    /// A file has no `-- migrate:up`.
    case missingUpMarker(file: String)

    /// A comment is almost a marker.
    case misspeltMarker(file: String, line: Int, marker: String)

    /// A marker is there a second time.
    case duplicateMarker(file: String, line: Int, marker: String)

    /// `-- migrate:down` stands before `-- migrate:up`.
    case downBeforeUp(file: String, line: Int)

    /// A statement stands before the first marker.
    case statementBeforeMarker(file: String, line: Int)

    /// A file of a pair has a marker.
    case markerInPair(file: String, line: Int)

    /// An option behind a marker is unknown, or asks for what migrations don't do here.
    case unsupportedOption(file: String, line: Int, option: String)
}

extension MigrationFolderError: LocalizedError {
    /// What is wrong, and where.
    public var errorDescription: String? {
        switch self {
        case .noSuchFolder(let path):
            "there is no folder '\(path)'"
        case .notAFolder(let path):
            "'\(path)' is no folder"
        case .empty(let path):
            "there are no migrations in '\(path)'"
        case .unexpectedName(let file):
            "\(file): the name of a migration begins with a number"
        case .duplicateIdentifier(let identifier, let files):
            "the migration '\(identifier)' is there more than once: "
                + files.joined(separator: ", ")
        case .mixedLayouts(let single, let pair):
            "the folder mixes two layouts: '\(single)' is a migration in one file, "
                + "'\(pair)' one in two"
        case .downWithoutUp(let file):
            "\(file): there is no '.up.sql' that it takes back"
        case .numbersOutOfOrder(let first, let second):
            "the migrations' numbers differ in length: '\(first)' would be applied before "
                + "'\(second)'"
        case .unreadable(let file, let reason):
            "\(file): can't be read: \(reason)"
        case .notUTF8(let file, let line):
            "\(file):\(line): the text is not UTF-8"
        case .nulCharacter(let file, let line):
            "\(file):\(line): there is a NUL character in the text"
        case .unterminatedStatement(let file, let line, let missing):
            "\(file):\(line): what begins here is never closed with \(missing)"
        case .refusedStatement(let file, let line, let kind):
            "\(file):\(line): a migration can't contain \(kind.name): \(kind.reason)"
        case .emptyUpPart(let file):
            "\(file): there is no statement to apply"
        case .missingUpMarker(let file):
            "\(file): the line '-- migrate:up' is missing"
        case .misspeltMarker(let file, let line, let marker):
            "\(file):\(line): '\(marker)' is almost a marker, but none"
        case .duplicateMarker(let file, let line, let marker):
            "\(file):\(line): '-- \(marker)' is there a second time"
        case .downBeforeUp(let file, let line):
            "\(file):\(line): '-- migrate:down' stands before '-- migrate:up'"
        case .statementBeforeMarker(let file, let line):
            "\(file):\(line): a statement stands before '-- migrate:up'"
        case .markerInPair(let file, let line):
            "\(file):\(line): a marker stands in a file that is one part as a whole"
        case .unsupportedOption(let file, let line, let option):
            "\(file):\(line): the option '\(option)' is not supported"
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .noSuchFolder, .notAFolder:
            "Give the path of the folder that holds the SQL files."
        case .empty:
            """
            Migrations are named in one of two ways:
              0001_name.sql, with the lines '-- migrate:up' and '-- migrate:down' in it
              0001_name.up.sql and 0001_name.down.sql
            """
        case .unexpectedName:
            "Name it like 0001_name.sql, or keep it in another folder if it is no migration."
        case .duplicateIdentifier:
            "Keep one of them. A migration that was shipped keeps its identifier."
        case .mixedLayouts:
            "Use one of the two layouts for all of the folder."
        case .downWithoutUp:
            "Name the two files alike, up to '.up.sql' and '.down.sql'."
        case .numbersOutOfOrder:
            "The order is that of the text: give all numbers the same length, with leading zeros."
        case .unreadable:
            "Check the file and its permissions."
        case .notUTF8:
            "Save it as UTF-8."
        case .nulCharacter:
            "Remove it: SQLite would stop reading there."
        case .unterminatedStatement(_, _, let missing):
            "Add the missing \(missing)"
        case .refusedStatement(_, _, let kind):
            kind.advice
        case .emptyUpPart:
            "Write the SQL that applies the migration, or remove the file."
        case .missingUpMarker:
            "Put the line above the SQL that applies the migration, and '-- migrate:down' above "
                + "what takes it back."
        case .misspeltMarker:
            "A marker is '-- migrate:up' or '-- migrate:down', in lower case, at the beginning of "
                + "a line."
        case .duplicateMarker:
            "Put all that applies the migration in one part, and all that takes it back in another."
        case .downBeforeUp:
            "Put the part that applies the migration first."
        case .statementBeforeMarker:
            "Move it below the marker: only comments can stand above."
        case .markerInPair:
            "Remove the marker, or put both parts in one file that is named like 0001_name.sql."
        case .unsupportedOption:
            "Remove it: every migration runs in a transaction, so that a failure leaves no trace."
        }
    }
}
