import Foundation
import MigrationKitCommon

extension MigrationFolderError: LocalizedError {
    /// What is wrong, and where.
    public var errorDescription: String? {
        switch self {
        case .noSuchFolder(let path):
            "there is no folder '\(path)'"
        case .notAFolder(let path):
            "'\(path)' is not a folder"
        case .empty(let path):
            "there are no migrations in '\(path)'"
        case .mixedFormats(let format, let file, let otherFormat, let otherFile):
            "the folder mixes two formats: \(file) \(format.implementation.phrase), \(otherFile) "
                + otherFormat.implementation.phrase
        case .unexpectedName(let file):
            "\(file): not a migration's file name"
        case .otherThanPattern(let pattern, let file):
            "\(file): the name doesn't match the pattern \(pattern.text)"
        case .severalHistories(let path, let folders):
            "there are no migrations in '\(path)' itself, but in "
                + folders.map { "'\($0)'" }.joined(separator: ", ")
        case .unsupportedFile(let kind, let file):
            "\(file): \(kind.reason)"
        case .duplicateVersion(let version, let files):
            "several migrations have the version \(version): \(files.joined(separator: ", "))"
        case .downWithoutUp(let file):
            "\(file): there is no migration that it could undo"
        case .missing(let file):
            "\(file): there is no such file"
        case .unreadable(let file, let code):
            "\(file): can't be read: \(systemReason(code))"
        case .notARegularFile(let file):
            "\(file): can't be read: it is not a regular file"
        case .leavesRepository(let file):
            "\(file): this link leads out of the repository, or to a file of another name"
        case .notUTF8(let place):
            "\(place): the text is not UTF-8"
        case .nulCharacter(let place):
            "\(place): the text has a NUL character"
        case .unterminatedStatement(let missing, let place):
            "\(place): missing \(missing): what begins here is never closed"
        case .refusedStatement(let kind, _, let place):
            "\(place): a migration can't contain \(kind.name): \(kind.reason)"
        case .emptyUpPart(let place):
            "\(place): this migration is a draft: it has no SQL"
        case .missingUpMarker(let marker, let place):
            "\(place): '\(marker)' is missing"
        case .missingDownMarker(let place):
            "\(place): this block has no '-- migrate:down', but the ones before it do"
        case .misspeltMarker(let marker, let place):
            "\(place): '\(marker)' looks like a misspelled marker"
        case .duplicateMarker(let marker, let place):
            "\(place): '\(marker)' is repeated"
        case .otherMarker(let marker, let place):
            "\(place): '\(marker)' is a marker of another tool"
        case .downBeforeUp(let place):
            "\(place): the down part comes before the up part"
        case .statementBeforeMarker(let place):
            "\(place): a statement comes before the up part's marker"
        case .markerInWholeFile(let marker, let place):
            "\(place): '\(marker)' is not allowed here: the whole file is one part"
        case .unsupportedOption(let option, let place):
            "\(place): the option '\(option)' is not supported"
        case .unreadableOlder(let place):
            "\(place): this is no single '-- migrate:older works' or '-- migrate:older breaks' with a reason"
        case .unreadableBatch(let place):
            "\(place): this is no '-- migrate:batch' above a statement that applies the migration"
        case .besideBatch(let place):
            "\(place): the migration has another statement, which runs in batches"
        case .notForBatches(let reason, let place):
            "\(place): the statement can't be run in batches: \(reason)"
        case .misplacedCheck(let marker, let place):
            "\(place): '\(marker)' is not allowed here"
        case .noChecks(let path):
            "there are no checks in '\(path)'"
        case .emptyCheck(let place):
            "\(place): there is no query"
        case .noQuery(let place):
            "\(place): a check can only be a query"
        case .unbalancedStatement(let place):
            "\(place): StatementBegin and StatementEnd don't match"
        case .environmentSubstitution(let place):
            "\(place): environment variables are not replaced in a migration"
        case .placeholder(let name, let place):
            "\(place): '\(name)' is a placeholder of Flyway, and is not replaced by a value here"
        case .misplacedNoTransaction(let place):
            "\(place): '-- no-transaction' must be exactly that, on the first line"
        case .unknownMetadata(let place):
            "\(place): only one line 'run_in_transaction = true' or 'run_in_transaction = false' is allowed"
        }
    }

    /// The line with a caret under the place, where there is one, and what to do about it.
    public var recoverySuggestion: String? {
        [place?.excerpt, advice].compactMap { $0 }.joined(separator: "\n")
    }

    /// The place in a file.
    public var place: SQLPlace? {
        switch self {
        case .noSuchFolder, .notAFolder, .empty, .mixedFormats, .unexpectedName,
            .otherThanPattern, .severalHistories, .unsupportedFile,
            .duplicateVersion, .downWithoutUp, .missing, .unreadable, .notARegularFile,
            .leavesRepository, .noChecks:
            nil
        case .notUTF8(let place), .nulCharacter(let place), .unterminatedStatement(_, let place),
            .refusedStatement(_, _, let place), .emptyUpPart(let place),
            .missingUpMarker(_, let place), .missingDownMarker(let place),
            .misspeltMarker(_, let place), .duplicateMarker(_, let place),
            .otherMarker(_, let place), .downBeforeUp(let place),
            .statementBeforeMarker(let place), .markerInWholeFile(_, let place),
            .unsupportedOption(_, let place), .unreadableOlder(let place),
            .unreadableBatch(let place), .besideBatch(let place), .notForBatches(_, let place),
            .misplacedCheck(_, let place), .emptyCheck(let place), .noQuery(let place),
            .unbalancedStatement(let place),
            .environmentSubstitution(let place), .placeholder(_, let place),
            .misplacedNoTransaction(let place),
            .unknownMetadata(let place):
            place
        }
    }

    package var advice: String {
        switch self {
        case .noSuchFolder, .notAFolder:
            "Give the path of the folder that holds the SQL files."
        case .empty:
            (["All migrations of a folder have one of these formats:"]
                + MigrationFormat.implementations.map { "  \($0.example)" })
                .joined(separator: "\n")
        case .mixedFormats:
            "Use one format in a folder, or a folder for each format."
        case .unexpectedName(let file) where file.contains("/"):
            "Rename it to up.sql or down.sql, or move it: a migration's folder has no other .sql files."
        case .unexpectedName:
            "Name it like 0001_name.sql or V1__name.sql, or move it if it is not a migration."
        case .otherThanPattern:
            "Rename it, or move it if it is not a migration."
        case .severalHistories(let path, let folders) where folders.count == 1:
            "Give the path of that folder: \(path)/\(folders[0])"
        case .severalHistories:
            """
            A database has one history of migrations, in one folder. Several histories in one file are not \
            supported: give one of the folders, and keep each history's tables in a file of their own.
            """
        case .unsupportedFile(let kind, _):
            kind.advice
        case .duplicateVersion:
            """
            Give each its own number: the one that was shipped, or merged first, keeps its name. Where \
            the other one is applied, 'repair --rename OLD=NEW' records its new name.
            """
        case .downWithoutUp(let file) where file.contains("/"):
            "Put an up.sql beside it."
        case .downWithoutUp(let file) where file.hasPrefix("U"):
            """
            A U file undoes the V file of the same version. If this file comes from refinery, \
            where U files are applied, too, rename it to V.
            """
        case .downWithoutUp:
            "Give it the number of the migration that it undoes, or remove it."
        case .missing:
            "The link's target doesn't exist. Correct the link, or remove it."
        case .unreadable, .notARegularFile:
            "Check the file and its permissions."
        case .leavesRepository:
            "Put the file itself there. Otherwise a change that is checked could show any file."
        case .notUTF8:
            "Save it as UTF-8."
        case .nulCharacter:
            "Remove it: SQLite would stop reading there."
        case .unterminatedStatement(let missing, _):
            "Add the missing \(missing)"
        case .refusedStatement(let kind, let format, _):
            kind.advice(wayOutOfTransaction: format.wayOutOfTransaction)
        case .emptyUpPart:
            """
            Write the SQL that applies the migration, or remove its files. If it should do \
            nothing, replace the template with a comment.
            """
        case .missingUpMarker:
            "Put the line above the SQL that applies the migration."
        case .missingDownMarker:
            "Add a '-- migrate:down' to every block, empty if needed: a rollback undoes all blocks."
        case .misspeltMarker:
            (["A marker is at the beginning of a line:"]
                + MigrationFormat.implementations.compactMap(\.markers).map { "  \($0)" }
                + ["  \(CheckPart.Marker.allTexts), for checks"])
                .joined(separator: "\n")
        case .duplicateMarker(let marker, _) where marker.contains("migrate:"):
            "Use one up part and one down part, or several blocks with one of each."
        case .duplicateMarker:
            "Use one part to apply the migration and one to roll it back."
        case .otherMarker:
            "Use the markers of one tool."
        case .downBeforeUp:
            "Put the part that applies the migration first."
        case .statementBeforeMarker:
            "Move it below the marker. Only comments may come before it."
        case .markerInWholeFile:
            "Remove the marker, or put both parts in one file that is named like 0001_name.sql."
        case .unsupportedOption:
            "Remove it: 'transaction:false' is the only one that changes anything."
        case .unreadableOlder:
            """
            Say once in the file whether versions of the program without this migration work with its \
            result, and if they don't, why. Without the comment, it is judged when it is applied.
            """
        case .unreadableBatch:
            """
            Its options are rows=5000, pause=20ms (or s) and log=32MB (or GB; at least 8MB), each at most \
            once, with spaces between them. The statement is the next one.
            """
        case .besideBatch:
            """
            Put it into a migration of its own: what runs in batches isn't one transaction, so nothing else \
            could be undone with it. Or put '-- \(BatchComment.marker)' above it, too.
            """
        case .notForBatches:
            "Write it in another way, or remove '-- \(BatchComment.marker)': it then runs in one transaction."
        case .misplacedCheck:
            """
            Put it into the part that applies the migration: a check belongs to that. A part with \
            checks ends with '\(CheckPart.Marker.end.text)', with the next part, or with the file.
            """
        case .noChecks:
            "Its .sql files are checks. Put one there, or name another folder."
        case .emptyCheck:
            "Write a query that returns a row for each violation, or remove it."
        case .noQuery:
            """
            Write one SELECT that returns a row for each violation. If this statement belongs to the \
            migration, put '\(CheckPart.Marker.end.text)' above it.
            """
        case .unbalancedStatement:
            "Put StatementBegin above a statement and StatementEnd below it, or remove both: they "
                + "aren't needed."
        case .environmentSubstitution:
            "Write the values into the file and remove the line. A migration must be the same wherever it runs."
        case .placeholder(let name, _):
            """
            Write the value into the file. Where Flyway has applied it, its checksum differs then: record \
            the migration by a baseline instead of adopting Flyway's table. If it is text, as in refinery \
            or with Flyway's placeholderReplacement=false, write: '$' || '\(name.dropFirst())'
            """
        case .misplacedNoTransaction:
            "Make it the first line of the file, or remove it."
        case .unknownMetadata:
            "Remove everything else from the file: it would be ignored."
        }
    }
}
