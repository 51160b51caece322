import MigrationKitCommon
import Foundation
import MigrationKit
import GRDB

/// A file of SQL that creates a database, as written by `schema-dump`.
///
/// The file is read and checked when the value is created: running it reads nothing. It may contain
/// what a migration may contain, except `VACUUM`.
public struct SQLDump: Sendable {
    /// The file's path, as it was given, or the descriptor's name.
    public let path: String

    private let script: SQLScript

    /// Reads and checks a file.
    ///
    /// - Parameter path: The path of a file, or of a pipe, which is read to its end.
    /// - Throws: ``SQLDumpError``; a ``MigrationFolderError`` for text that can't be split into
    ///   statements.
    public init(path: String) throws {
        try self.init(name: path) { try FileContents.of(path) }
    }

    /// Reads an open descriptor, such as standard input, to its end, and checks the text.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor. It stays open.
    ///   - name: Its name in errors.
    /// - Throws: As for a file.
    public init(descriptor: Int32, name: String) throws {
        try self.init(name: name) { try FileContents.of(descriptor) }
    }

    /// Checks a text that was read already.
    ///
    /// - Throws: As for a file.
    package init(_ contents: [UInt8], name: String) throws {
        try self.init(name: name) { contents }
    }

    private init(name path: String, read: () throws -> [UInt8]) throws {
        let file = try SQLFile(name: path, contents: Self.contents(of: path, read))
        for statement in try SQLOutline(of: file).statements {
            guard let refused = RefusedStatement(words: statement.words) else { continue }
            throw SQLDumpError.refusedStatement(
                refused,
                at: file.place(at: statement.range.lowerBound)
            )
        }
        self.path = path
        script = SQLScript(file: file, ranges: [0..<file.bytes.count])
    }

    /// Runs the statements one by one, in the open transaction.
    ///
    /// - Parameter db: A connection to the database.
    /// - Throws: ``SQLStatementError`` with the place in the file, if SQLite refuses a statement.
    public func run(in db: Database) throws {
        try script.run(in: db)
    }

    private static func contents(
        of path: String,
        _ read: () throws -> [UInt8]
    ) throws -> [UInt8] {
        do {
            return try read()
        } catch let error as POSIXError {
            switch error.code {
            case .ENOENT, .ENOTDIR: throw SQLDumpError.noSuchFile(path: path)
            case .EISDIR: throw SQLDumpError.isFolder(path: path)
            default: throw SQLDumpError.unreadable(path: path, reason: error.reason)
            }
        }
    }
}

/// Why a dump can't be used. Found before any database is opened.
public enum SQLDumpError: Error, Equatable, Sendable {
    /// There is no file at the path.
    case noSuchFile(path: String)

    /// The path leads to a folder.
    case isFolder(path: String)

    /// The file can't be read.
    case unreadable(path: String, reason: String)

    /// The dump contains a statement that isn't allowed.
    case refusedStatement(RefusedStatement, at: SQLPlace)
}

extension SQLDumpError: LocalizedError {
    /// What is wrong, and where.
    public var errorDescription: String? {
        switch self {
        case .noSuchFile(let path): "there is no file \(path)"
        case .isFolder(let path): "\(path) is a folder, not a dump"
        case .unreadable(let path, let reason): "\(path) can't be read: \(reason)"
        case .refusedStatement(let kind, let place):
            "\(place): a dump can't contain \(kind.name)"
        }
    }

    /// The line with a caret under the place, where there is one, and what to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .noSuchFile: "Check the path."
        case .isFolder: "Give the path of the file in it."
        case .unreadable: "Check the file and its permissions."
        case .refusedStatement(_, let place):
            """
            \(place.excerpt)
            Remove it: a dump is loaded as a whole, in one transaction, into a database of its own.
            """
        }
    }
}

extension SQLDumpError: CodedError {
    /// What programs are given of the error.
    public var code: ErrorCode {
        switch self {
        case .noSuchFile: ErrorCode("noSuchFile", .noInput)
        case .isFolder: ErrorCode("isDirectory", .noInput)
        case .unreadable: ErrorCode("unreadableFile", .noPermission)
        case .refusedStatement: ErrorCode("unusableDump", .dataError)
        }
    }
}
