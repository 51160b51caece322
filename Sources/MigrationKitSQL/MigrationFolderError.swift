import MigrationKit
import MigrationKitCommon

/// Why a folder of SQL files can't be used.
///
/// All errors except ``emptyUpPart(at:)`` are found when the folder is read, before any database is
/// opened. `file` is the path of a file in the folder.
public enum MigrationFolderError: Error, Equatable, Sendable {
    // MARK: The folder

    /// There is nothing at the path.
    case noSuchFolder(path: String)

    /// The path leads to something that isn't a folder.
    case notAFolder(path: String)

    /// The folder contains no migrations.
    case empty(path: String)

    /// Two files have different formats.
    case mixedFormats(MigrationFormat, file: String, MigrationFormat, otherFile: String)

    // MARK: The files' names

    /// The name of an SQL file isn't that of a migration.
    case unexpectedName(file: String)

    /// The name of an SQL file isn't as the folder's own pattern has it.
    case otherThanPattern(MigrationNamePattern, file: String)

    /// The folder has no migrations, but its subfolders have: each of them is a history of its own.
    case severalHistories(path: String, folders: [String])

    /// Other tools use this file as a part of the migrations.
    case unsupportedFile(UnsupportedFile, file: String)

    /// Several files have the same version.
    case duplicateVersion(String, files: [String])

    /// There is a down part, but no up part.
    case downWithoutUp(file: String)

    // MARK: The files' text

    /// A file doesn't exist: it is a dangling link, or was removed before it was read.
    case missing(file: String)

    /// A file, or the folder, can't be read. The code is that of `errno`.
    case unreadable(file: String, code: Int32)

    /// A migration is a folder, a pipe or a device.
    case notARegularFile(file: String)

    /// A link leads out of the folder's repository, and the files may be a stranger's.
    case leavesRepository(file: String)

    /// A file isn't UTF-8.
    case notUTF8(at: SQLPlace)

    /// A file has a NUL character, at which SQLite would stop reading.
    case nulCharacter(at: SQLPlace)

    /// A literal, a comment, a parenthesis or a trigger that begins here has no end.
    case unterminatedStatement(missing: String, at: SQLPlace)

    /// A migration contains a statement that isn't allowed.
    case refusedStatement(RefusedStatement, in: MigrationFormat, at: SQLPlace)

    /// The migration is a draft: its file has only what
    /// ``MigrationFolder/create(_:in:format:numbering:names:sql:now:)`` has written. The folder can be
    /// read, but the step can't be applied.
    case emptyUpPart(at: SQLPlace)

    // MARK: Markers

    /// A file has markers, but none for the up part.
    case missingUpMarker(String, at: SQLPlace)

    /// The last of several blocks has no down part.
    case missingDownMarker(at: SQLPlace)

    /// A comment looks like a misspelled marker.
    case misspeltMarker(String, at: SQLPlace)

    /// A marker is repeated.
    case duplicateMarker(String, at: SQLPlace)

    /// A file has a marker of another tool.
    case otherMarker(String, at: SQLPlace)

    /// The down part comes before the up part.
    case downBeforeUp(at: SQLPlace)

    /// A statement comes before the first marker.
    case statementBeforeMarker(at: SQLPlace)

    /// A file that is a single part has a marker.
    case markerInWholeFile(String, at: SQLPlace)

    /// An option after a marker is unknown, or requests something that isn't supported.
    case unsupportedOption(String, at: SQLPlace)

    /// A comment `-- migrate:older` says neither `works` nor `breaks` with a reason, or is the second
    /// one.
    case unreadableOlder(at: SQLPlace)

    /// A comment `-- migrate:batch` has an option that can't be read, or isn't above a statement of the part
    /// that applies the migration.
    case unreadableBatch(at: SQLPlace)

    /// A statement without the comment `-- migrate:batch` stands in a migration that has one.
    case besideBatch(at: SQLPlace)

    /// A statement can't be run in batches.
    case notForBatches(reason: String, at: SQLPlace)

    /// A part with checks doesn't belong to the part that applies the migration, or is ended without
    /// having begun.
    case misplacedCheck(String, at: SQLPlace)

    /// A part or a file with checks has no query.
    case emptyCheck(at: SQLPlace)

    /// The folder of checks that was named has none.
    case noChecks(path: String)

    /// A check is no query, or does more than read.
    case noQuery(at: SQLPlace)

    /// `StatementBegin` is there without `StatementEnd`, or the other way round.
    case unbalancedStatement(at: SQLPlace)

    /// A file has goose's `ENVSUB ON`.
    case environmentSubstitution(at: SQLPlace)

    /// A file has a placeholder of Flyway, such as `${name}`, outside of comments.
    case placeholder(String, at: SQLPlace)

    /// sqlx's `-- no-transaction` is not on the first line, or is misspelled.
    case misplacedNoTransaction(at: SQLPlace)

    /// A line of a `metadata.toml` is unknown.
    case unknownMetadata(at: SQLPlace)
}

extension MigrationFolderError: CodedError {
    /// The error's code for programs, and its exit status.
    public var code: ErrorCode {
        switch self {
        case .noSuchFolder, .notAFolder: ErrorCode("noSuchFolder", .noInput)
        case .empty, .severalHistories, .noChecks: ErrorCode("emptyFolder", .noInput)
        case .missing: ErrorCode("missingMigration", .noInput)
        case .unreadable(_, let code):
            FileLock.Failure.isFault(code)
                ? ErrorCode("inputOutput", .inputOutput)
                : ErrorCode("unreadableMigrations", .noPermission)
        case .notARegularFile: ErrorCode("unreadableMigrations", .noPermission)
        case .leavesRepository: ErrorCode("leavesRepository", .noPermission)
        case .emptyUpPart: ErrorCode("draftMigration", .dataError)
        default: ErrorCode("unusableMigrations", .dataError)
        }
    }
}

extension MigrationFolderError {
    /// The file that it is about; `nil` if it is about the folder.
    package var file: String? {
        switch self {
        case .noSuchFolder, .notAFolder, .empty, .severalHistories, .noChecks: nil
        case .mixedFormats(_, _, _, let file), .unexpectedName(let file),
            .otherThanPattern(_, let file),
            .unsupportedFile(_, let file), .downWithoutUp(let file), .missing(let file),
            .unreadable(let file, _), .notARegularFile(let file), .leavesRepository(let file):
            file
        case .duplicateVersion(_, let files): files.last
        default: place?.file
        }
    }
}
