import Foundation

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
        case .mixedFormats(let format, let file, let otherFormat, let otherFile):
            "the folder mixes two forms: \(file) \(format.phrase), \(otherFile) "
                + otherFormat.phrase
        case .unexpectedName(let file):
            "\(file): this is no name of a migration"
        case .unsupportedFile(let kind, let file):
            "\(file): \(kind.reason)"
        case .duplicateVersion(let version, let files):
            "the version \(version) is there more than once: \(files.joined(separator: ", "))"
        case .downWithoutUp(let file):
            "\(file): there is nothing that it takes back"
        case .missing(let file):
            "\(file): there is no such file"
        case .unreadable(let file, let reason):
            "\(file): can't be read: \(reason)"
        case .notUTF8(let place):
            "\(place): the text is not UTF-8"
        case .nulCharacter(let place):
            "\(place): there is a NUL character in the text"
        case .unterminatedStatement(let missing, let place):
            "\(place): what begins here is never closed with \(missing)"
        case .refusedStatement(let kind, _, let place):
            "\(place): a migration can't contain \(kind.name): \(kind.reason)"
        case .emptyUpPart(let place):
            "\(place): this migration is still a draft: no SQL was written into it"
        case .missingUpMarker(let marker, let place):
            "\(place): '\(marker)' is missing"
        case .missingDownMarker(let place):
            "\(place): this block has no '-- migrate:down', but the ones before it do"
        case .misspeltMarker(let marker, let place):
            "\(place): '\(marker)' is almost a marker, but none"
        case .duplicateMarker(let marker, let place):
            "\(place): '\(marker)' is there a second time"
        case .otherMarker(let marker, let place):
            "\(place): '\(marker)' is a marker of another tool than the others"
        case .downBeforeUp(let place):
            "\(place): the down part stands before the up part"
        case .statementBeforeMarker(let place):
            "\(place): a statement stands before the up part's marker"
        case .markerInWholeFile(let marker, let place):
            "\(place): '\(marker)' stands in a file that is one part as a whole"
        case .unsupportedOption(let option, let place):
            "\(place): the option '\(option)' is not supported"
        case .unbalancedStatement(let place):
            "\(place): StatementBegin and StatementEnd don't belong together"
        case .environmentSubstitution(let place):
            "\(place): the environment can't change a migration"
        case .misplacedNoTransaction(let place):
            "\(place): '-- no-transaction' counts on the first line only, and only written so"
        case .unknownMetadata(let place):
            "\(place): only 'run_in_transaction = true' or '= false' can stand here, once"
        }
    }

    /// The line with a caret under the place, where there is one, and what to do about it.
    public var recoverySuggestion: String? {
        [place?.excerpt, advice].compactMap { $0 }.joined(separator: "\n")
    }

    /// Where in a file it is.
    public var place: SQLPlace? {
        switch self {
        case .noSuchFolder, .notAFolder, .empty, .mixedFormats, .unexpectedName, .unsupportedFile,
            .duplicateVersion, .downWithoutUp, .missing, .unreadable:
            nil
        case .notUTF8(let place), .nulCharacter(let place), .unterminatedStatement(_, let place),
            .refusedStatement(_, _, let place), .emptyUpPart(let place),
            .missingUpMarker(_, let place), .missingDownMarker(let place),
            .misspeltMarker(_, let place), .duplicateMarker(_, let place),
            .otherMarker(_, let place), .downBeforeUp(let place),
            .statementBeforeMarker(let place), .markerInWholeFile(_, let place),
            .unsupportedOption(_, let place), .unbalancedStatement(let place),
            .environmentSubstitution(let place), .misplacedNoTransaction(let place),
            .unknownMetadata(let place):
            place
        }
    }

    private var advice: String {
        switch self {
        case .noSuchFolder, .notAFolder:
            "Give the path of the folder that holds the SQL files."
        case .empty:
            """
            Migrations have one of these forms, the same for all of a folder:
              0001_name.sql, with the lines '-- migrate:up' and '-- migrate:down' in it
              0001_name.sql, with the lines '-- +goose Up' and '-- +goose Down' in it
              0001_name.up.sql and 0001_name.down.sql
              0001_name.sql, with nothing that takes it back
              0001_name/up.sql and 0001_name/down.sql
              V1__name.sql and U1__name.sql
            """
        case .mixedFormats:
            "Use one form for all of the folder, or a folder for each."
        case .unexpectedName(let file) where file.contains("/"):
            "Name it up.sql or down.sql, or keep it elsewhere: a migration's folder has nothing "
                + "else that ends in .sql."
        case .unexpectedName:
            "Name it like 0001_name.sql or V1__name.sql, or keep it in another folder if it is no "
                + "migration."
        case .unsupportedFile(let kind, _):
            kind.advice
        case .duplicateVersion:
            "Give each its own number. A migration that was shipped keeps its name."
        case .downWithoutUp(let file) where file.contains("/"):
            "Put an up.sql beside it."
        case .downWithoutUp(let file) where file.hasPrefix("U"):
            """
            A file that begins with U takes back the V file of the same version. refinery's \
            migrations of that letter apply something: name them with V.
            """
        case .downWithoutUp:
            "Name the two files alike, up to '.up.sql' and '.down.sql'."
        case .missing:
            "A link by that name leads nowhere. Have it lead to the file, or remove it."
        case .unreadable:
            "Check the file and its permissions."
        case .notUTF8:
            "Save it as UTF-8."
        case .nulCharacter:
            "Remove it: SQLite would stop reading there."
        case .unterminatedStatement(let missing, _):
            "Add the missing \(missing)"
        case .refusedStatement(let kind, let format, _):
            kind.advice(in: format)
        case .emptyUpPart:
            """
            Write the SQL that applies the migration, or remove its files. If it should do nothing, \
            put a comment of your own in place of the template.
            """
        case .missingUpMarker:
            "Put the line above the SQL that applies the migration."
        case .missingDownMarker:
            "Give every block its '-- migrate:down', empty if need be: of several blocks, all are "
                + "taken back."
        case .misspeltMarker:
            """
            A marker stands at the beginning of a line:
              -- migrate:up, -- migrate:down (in lower case)
              -- +goose Up, -- +goose Down, -- +goose NO TRANSACTION
            """
        case .duplicateMarker(let marker, _) where marker.contains("goose"):
            "Put all that applies the migration in one part, and all that takes it back in another."
        case .duplicateMarker:
            "Put what belongs together in one part, or make several blocks, each of an up and a "
                + "down."
        case .otherMarker:
            "Use the markers of one tool."
        case .downBeforeUp:
            "Put the part that applies the migration first."
        case .statementBeforeMarker:
            "Move it below the marker: only comments can stand above."
        case .markerInWholeFile:
            "Remove the marker, or put both parts in one file that is named like 0001_name.sql."
        case .unsupportedOption:
            "Remove it: 'transaction:false' is the only one that changes anything."
        case .unbalancedStatement:
            "Put StatementBegin above a statement and StatementEnd below it, or remove both: they "
                + "aren't needed."
        case .environmentSubstitution:
            "Write the values out: a migration has to be the same wherever it runs. Then remove "
                + "the line."
        case .misplacedNoTransaction:
            "Make it the first line of the file, or remove it."
        case .unknownMetadata:
            "Remove what else is there: nothing would follow it."
        }
    }
}
