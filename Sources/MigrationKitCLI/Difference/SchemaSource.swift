import ArgumentParser
import Foundation
import GRDB
import MigrationKit
import MigrationKitCommon
import MigrationKitSQL
import MigrationKitSchema

/// Where a schema comes from that a command compares.
enum SchemaSource: Equatable {
    /// The project's own migrations.
    case migrations
    /// A folder of migrations.
    case folder(String)
    /// A dump of a schema; `-` is standard input.
    case dump(String)
    case database(String)

    /// Finds out what a path leads to: a folder, a text or something else.
    ///
    /// - Throws: `SQLDumpError` if nothing can be read there.
    init(_ path: String) throws {
        var status = stat()
        guard path != "-" else {
            self = .dump(path)
            return
        }
        guard stat(path, &status) == 0 else {
            let isMissing = errno == ENOENT || errno == ENOTDIR
            throw isMissing
                ? SQLDumpError.noSuchFile(path: path)
                : SQLDumpError.unreadable(path: path, reason: systemReason(errno))
        }
        switch status.st_mode & S_IFMT {
        case S_IFDIR: self = .folder(path)
        case S_IFREG: self = try Self.isDatabase(path) ? .database(path) : .dump(path)
        default: self = .dump(path)
        }
    }

    /// Whether a file is no text, in whatever encoding. An encrypted database begins with random
    /// bytes, of which one in 256 is 0, and a plaintext one has a zero in its header.
    private static func isDatabase(_ path: String) throws -> Bool {
        guard let file = FileHandle(forReadingAtPath: path) else {
            throw SQLDumpError.unreadable(path: path, reason: systemReason(errno))
        }
        defer { try? file.close() }
        let bytes = Array(try file.read(upToCount: 4096) ?? Data())
        let zeros = bytes.count { $0 == 0 }
        // In UTF-16, every other byte of English text is 0. The reader of dumps refuses it.
        let isUTF16 = bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF])
        return zeros > 0 && !(isUTF16 && zeros > bytes.count / 4)
    }

    /// Its name in messages.
    var name: String {
        switch self {
        case .migrations: "migrations"
        case .dump("-"): "standard input"
        case .folder(let path), .dump(let path), .database(let path): path
        }
    }

    var isDatabase: Bool {
        if case .database = self { true } else { false }
    }
}

/// A schema that a command compares, and its database if it comes from one.
struct ComparedSchema {
    let source: SchemaSource
    let schema: DatabaseSchema
    var database: (any DatabaseWriter)?

    /// The statements that create it, as `schema-dump` writes them.
    var text: String {
        schema.statements.script
    }
}

extension CommandContext {
    /// The tables that no comparison of schemas counts: those that are named on the command line or in
    /// the settings file, and the records of other tools.
    ///
    /// - Parameter given: The names on the command line.
    func ignoredTables(_ given: [String]) throws -> [String] {
        try given + (settings()?.value(.ignoreTable) ?? []) + MigrationTool.recordTables
    }
}

extension StoreCommand {
    /// Reads or builds a schema. A database is only read.
    ///
    /// - Parameters:
    ///   - names: Tables and views that are left out.
    ///   - allowsNoMigrations: Whether a project without migrations has an empty schema.
    func schema(
        of source: SchemaSource,
        ignoring names: [String],
        allowsNoMigrations: Bool = false,
        in context: CommandContext
    ) throws -> ComparedSchema {
        let read = { (db: Database) in try DatabaseSchema(of: db).ignoring(tables: names) }
        switch source {
        case .migrations:
            do {
                let loaded = try migrations.load(in: context, ofStranger: true)
                return ComparedSchema(
                    source: source,
                    schema: try loaded.runnerWithoutDrafts()
                        .inMemory(configuration: context.configurationOfSteps, read)
                )
            } catch let error as MigrationFolderError where error.isOfNoMigrations {
                guard allowsNoMigrations else { throw error }
                return ComparedSchema(source: source, schema: try Self.emptySchema())
            }
        case .folder(let path):
            try Repository.refuseLink(path)
            let folder = try MigrationFolder(ofStranger: path, names: context.namePattern)
            let runner = try GRDBMigrationRunner(
                steps: folder.steps,
                enforceLexicographicOrder: false
            )
            let loaded = LoadedMigrations(runner: runner, folder: folder)
            return ComparedSchema(
                source: source,
                schema: try loaded.runnerWithoutDrafts()
                    .inMemory(configuration: context.configurationOfSteps, read)
            )
        case .dump(let path):
            if path != "-" { try Repository.refuseLink(path) }
            let dump =
                path == "-"
                ? try SQLDump(descriptor: STDIN_FILENO, name: source.name) : try SQLDump(path: path)
            let queue = try DatabaseQueue(configuration: context.configurationOfSteps)
            let schema = try queue.write { db in
                do {
                    try dump.run(in: db)
                } catch let error as SQLStatementError where error.code.exitStatus == .failed {
                    // A dump is somebody's input here, and no migration that fails.
                    throw CommandError(
                        ErrorCode("unusableDump", .dataError),
                        error.errorDescription,
                        error.recoverySuggestion
                    )
                }
                return try read(db)
            }
            return ComparedSchema(source: source, schema: schema)
        case .database(let path):
            let writer = try open(path, in: context)
            let schema = try writer.read { db in
                // Another tool's record may have any name.
                try read(db).ignoring(tables: MigrationTool.recordTables(in: db))
            }
            return ComparedSchema(source: source, schema: schema, database: writer)
        }
    }

    /// Opens a database for reading, with the key that the options name.
    func open(_ path: String, in context: CommandContext) throws -> any DatabaseWriter {
        var options = database
        options.file.dbPath = path
        return try context.open(
            options,
            for: .examine,
            isPlaintext: encryption.noEncryption
        ).writer
    }

    private static func emptySchema() throws -> DatabaseSchema {
        try DatabaseQueue(configuration: .ofMigrations).read(DatabaseSchema.init(of:))
    }

    /// Throws if standard input would be read twice.
    func checkStandardInput(_ sources: [SchemaSource]) throws {
        let dumps = sources.count { $0 == .dump("-") }
        let keys = database.secret.sources.compactMap(\.descriptor)
        guard dumps < 2 else { throw ValidationError("Standard input can't give both schemas.") }
        guard dumps == 0 || !keys.contains(STDIN_FILENO) else {
            throw ValidationError("Standard input can't give both the dump and the key.")
        }
        guard sources.count(where: \.isDatabase) < 2 || keys.isEmpty else {
            throw ValidationError(
                "A key that is read from a descriptor opens only one database. Give a file."
            )
        }
    }
}

extension MigrationFolderError {
    /// Whether there are no migrations at all.
    fileprivate var isOfNoMigrations: Bool {
        switch self {
        case .empty, .noSuchFolder: true
        default: false
        }
    }
}
