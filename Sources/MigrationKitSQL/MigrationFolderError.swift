import MigrationKitCommon

/// A reason for which a folder of SQL files can't be used.
///
/// All but ``emptyUpPart(at:)`` are found when the folder is read, before any database is opened.
/// `file` is the path of a file in the folder.
public enum MigrationFolderError: Error, Equatable, Sendable {
    // MARK: The folder

    /// There is nothing at the path.
    case noSuchFolder(path: String)

    /// There is something other than a folder at the path.
    case notAFolder(path: String)

    /// The folder has no migrations in it.
    case empty(path: String)

    /// Some migrations have another form than the others.
    case mixedFormats(MigrationFormat, file: String, MigrationFormat, otherFile: String)

    // MARK: The files' names

    /// The name of an SQL file is none of a migration.
    case unexpectedName(file: String)

    /// Other tools take the file for a part of the migrations.
    case unsupportedFile(UnsupportedFile, file: String)

    /// Several files have the same version.
    case duplicateVersion(String, files: [String])

    /// What takes a step back is there without what applies it.
    case downWithoutUp(file: String)

    // MARK: The files' text

    /// A file isn't there: the folder has a link to it, or it went while it was about to be read.
    case missing(file: String)

    /// A file, or the folder, can't be read.
    case unreadable(file: String, reason: String)

    /// A file isn't UTF-8.
    case notUTF8(at: SQLPlace)

    /// A file has a NUL character, at which SQLite would stop reading.
    case nulCharacter(at: SQLPlace)

    /// A literal, a comment, a parenthesis or a trigger that begins here has no end.
    case unterminatedStatement(missing: String, at: SQLPlace)

    /// A statement that a migration must not contain.
    case refusedStatement(RefusedStatement, in: MigrationFormat, at: SQLPlace)

    /// The migration is a draft: its file has nothing in it but what
    /// ``MigrationFolder/create(_:in:format:numbering:now:)`` has written. The folder can be read, and
    /// the step can't be applied.
    case emptyUpPart(at: SQLPlace)

    // MARK: Markers

    /// A file has markers, but none for the part that applies the step.
    case missingUpMarker(String, at: SQLPlace)

    /// The last of several blocks has no part that takes it back.
    case missingDownMarker(at: SQLPlace)

    /// A comment is almost a marker.
    case misspeltMarker(String, at: SQLPlace)

    /// A marker is there a second time.
    case duplicateMarker(String, at: SQLPlace)

    /// The marker of another tool.
    case otherMarker(String, at: SQLPlace)

    /// The part that takes the step back stands before the one that applies it.
    case downBeforeUp(at: SQLPlace)

    /// A statement stands before the first marker.
    case statementBeforeMarker(at: SQLPlace)

    /// A file that is one part as a whole has a marker.
    case markerInWholeFile(String, at: SQLPlace)

    /// An option behind a marker is unknown, or asks for what migrations don't do here.
    case unsupportedOption(String, at: SQLPlace)

    /// One of goose's `StatementBegin` and `StatementEnd` is there without the other.
    case unbalancedStatement(at: SQLPlace)

    /// goose's `ENVSUB ON`.
    case environmentSubstitution(at: SQLPlace)

    /// sqlx's `-- no-transaction` is not the first line, or not written like that.
    case misplacedNoTransaction(at: SQLPlace)

    /// A line of a `metadata.toml` is none that is known.
    case unknownMetadata(at: SQLPlace)
}

extension MigrationFolderError: CodedError {
    /// What programs are given of the error.
    public var code: ErrorCode {
        switch self {
        case .noSuchFolder, .notAFolder: ErrorCode("noSuchFolder", .noInput)
        case .empty: ErrorCode("emptyFolder", .noInput)
        case .missing: ErrorCode("missingMigration", .noInput)
        case .unreadable(_, let reason):
            FileLock.Failure.isFault(reason)
                ? ErrorCode("inputOutput", .inputOutput)
                : ErrorCode("unreadableMigrations", .noPermission)
        case .emptyUpPart: ErrorCode("draftMigration", .dataError)
        default: ErrorCode("unusableMigrations", .dataError)
        }
    }
}
