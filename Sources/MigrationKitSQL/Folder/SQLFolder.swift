import Foundation
import MigrationKitCommon

/// A folder from which files are read.
struct SQLFolder {
    let path: String

    /// The contents of the files by their paths in the folder; `nil` for a folder on disk.
    var files: [String: [UInt8]]?

    /// The repository that no link may leave; `nil` if links may lead anywhere.
    var repository: Repository?

    /// The names of the files; `nil` if they are those of a known tool.
    var pattern: MigrationNamePattern?

    /// What errors put before the name of a file.
    var prefix = ""

    /// The files of migrations: those in the folder, and those in its subfolders.
    ///
    /// - Throws: As ``names()``.
    func migrationFiles() throws -> [MigrationFileName] { try names().migrations }

    /// The files of migrations, and the SQL files that golang-migrate would ignore.
    ///
    /// - Throws: ``MigrationFolderError/noSuchFolder(path:)``,
    ///   ``MigrationFolderError/notAFolder(path:)``,
    ///   ``MigrationFolderError/unreadable(file:reason:)``, or what is wrong with a name.
    func names() throws -> (migrations: [MigrationFileName], ignored: [String]) {
        var unexpected: [String] = []
        var onlyOfDiesel: [MigrationFolderError] = []
        let names = try contents().sorted().filter { !$0.hasPrefix(".") }
        let migrations = try names.flatMap { name -> [MigrationFileName] in
            try checkText(of: name)
            do {
                if let file = try MigrationFileName.read(name, as: pattern) { return [file] }
            } catch MigrationFolderError.unexpectedName {
                unexpected.append(name)
                return []
            }
            guard pattern == nil else { return [] }
            let mayBeDiesels = DieselFormat().version(of: name) != nil
            switch try entry(name) {
            case .file:
                return []
            case .folder:
                try checkPlace(of: name)
                let folder = subfolder(name)
                if !mayBeDiesels, (try? folder.has("up.sql")) == true {
                    onlyOfDiesel.append(.unsupportedFile(.unnumberedFolder, file: name))
                }
                return try MigrationFormat.implementations.flatMap {
                    try $0.fileNames(inFolder: name, contents: folder.contents)
                }
            case .nothing(let fault):
                if mayBeDiesels { throw fault }
                onlyOfDiesel.append(fault)
                return []
            }
        }
        // No other tool has pairs and ignores the rest. A numbered file among them is sqlx's, unless a
        // name is only golang-migrate's.
        let isGolang = migrations.contains(where: \.isOnlyOfGolangMigrate)
        let others = migrations.filter { isGolang && $0.format == nil }
        let used = isGolang ? migrations.filter { $0.format != nil } : migrations
        func haveAll(_ format: MigrationFormat) -> Bool {
            !used.isEmpty && used.allSatisfy { $0.format == format }
        }
        if let first = unexpected.first, !haveAll(.pairs) {
            throw MigrationFolderError.unexpectedName(file: first)
        }
        // Diesel takes every folder for a migration.
        if let first = onlyOfDiesel.first, haveAll(.diesel) { throw first }
        if haveAll(.pairs), pattern == nil { try checkOtherEndings(names, beside: used) }
        return (used, (unexpected + others.map(\.path)).sorted())
    }

    /// golang-migrate runs pairs of any ending, such as `2_b.up.ddl`, and sqlx only those of `.sql`.
    ///
    /// - Throws: ``MigrationFolderError/unsupportedFile(_:file:)`` for a part that no `.sql` file has.
    ///   Beside one, it is an editor's copy.
    private func checkOtherEndings(
        _ names: [String],
        beside files: [MigrationFileName]
    ) throws {
        for name in names where !name.lowercased().hasSuffix(".sql") {
            guard let other = PairFormat().fileName(name), try entry(name) != .folder,
                !files.contains(where: { $0.version == other.version && $0.role == other.role })
            else { continue }
            throw MigrationFolderError.unsupportedFile(.otherEnding, file: name)
        }
    }

    /// The names of the SQL files, whatever they are, in order.
    func sqlFiles() throws -> [String] {
        try contents().sorted().filter { name in
            guard !name.hasPrefix("."), name.lowercased().hasSuffix(".sql") else { return false }
            try checkText(of: name)
            return try !isFolder(name)
        }
    }

    /// Refuses a name that would be another one in what is printed, if it may be a migration's.
    private func checkText(of name: String) throws {
        let shown = name.withoutControlCharacters
        let isSQL = name.lowercased().contains(".sql")
        // It could be a line of its own.
        if shown != name, try isSQL || entry(name) != .file {
            throw MigrationFolderError.unexpectedName(file: shown)
        }
        if isSQL, name.contains(Self.replacement), case .nothing(let fault) = try entry(name),
            case .unsupportedFile = fault
        {
            throw fault
        }
    }

    /// The subfolders that are folders of migrations themselves.
    func foldersOfMigrations() -> [String] {
        let names = (try? contents().sorted()) ?? []
        return names.filter { name in
            guard !name.hasPrefix("."), (try? isFolder(name)) == true,
                (try? checkPlace(of: name)) != nil
            else { return false }
            return (try? subfolder(name).migrationFiles().isEmpty) == false
        }
    }

    private func subfolder(_ name: String) -> SQLFolder {
        let start = name + "/"
        let files = files.map { files in
            Dictionary(
                uniqueKeysWithValues: files.filter { $0.key.hasPrefix(start) }.map {
                    (String($0.key.dropFirst(start.count)), $0.value)
                }
            )
        }
        return SQLFolder(
            path: path(of: name),
            files: files,
            repository: repository,
            pattern: pattern
        )
    }

    private func contents() throws -> [String] {
        if let files {
            return Array(Set(files.keys.map { String($0.prefix { $0 != "/" }) }))
        }
        do {
            return try namesInFolder(path)
        } catch {
            switch error.code {
            case .ENOENT:
                throw MigrationFolderError.noSuchFolder(path: path)
            case .ENOTDIR:
                throw MigrationFolderError.notAFolder(path: path)
            default:
                throw MigrationFolderError.unreadable(file: path, code: error.code.rawValue)
            }
        }
    }

    /// Whether something with this name exists, a dangling link included.
    func has(_ name: String) throws -> Bool {
        if let files { return files[name] != nil }
        var status = stat()
        if lstat(path(of: name), &status) == 0 { return true }
        guard [ENOENT, ENOTDIR].contains(errno) else {
            throw MigrationFolderError.unreadable(file: prefix + name, code: errno)
        }
        return false
    }

    /// What a name in the folder leads to.
    private enum Entry: Equatable {
        case folder
        /// Anything else that is there.
        case file
        /// It can't be opened: a dangling link, or a name that isn't UTF-8.
        case nothing(MigrationFolderError)
    }

    /// Stands in a text for what isn't UTF-8.
    private static let replacement: Character = "\u{FFFD}"

    private func entry(_ name: String) throws -> Entry {
        if let files {
            return files.keys.contains { $0.hasPrefix(name + "/") } ? .folder : .file
        }
        var status = stat()
        guard stat(path(of: name), &status) == 0 else {
            guard [ENOENT, ENOTDIR, ELOOP].contains(errno) else {
                throw MigrationFolderError.unreadable(file: prefix + name, code: errno)
            }
            let isLink = lstat(path(of: name), &status) == 0
            return .nothing(
                name.contains(Self.replacement) && !isLink
                    ? .unsupportedFile(.otherEncoding, file: prefix + name)
                    : .missing(file: prefix + name)
            )
        }
        return status.st_mode & S_IFMT == S_IFDIR ? .folder : .file
    }

    private func isFolder(_ name: String) throws -> Bool { try entry(name) == .folder }

    private func path(of name: String) -> String {
        path.hasSuffix("/") ? path + name : "\(path)/\(name)"
    }

    private func checkPlace(of name: String) throws {
        if repository?.isLeft(byFile: path(of: name)) ?? false {
            throw MigrationFolderError.leavesRepository(file: prefix + name)
        }
    }

    /// Reads a file of the folder.
    func read(_ name: String) throws -> SQLFile {
        if let files {
            guard let contents = files[name] else {
                throw MigrationFolderError.missing(file: prefix + name)
            }
            return try SQLFile(name: prefix + name, contents: contents)
        }
        try checkPlace(of: name)
        let contents: [UInt8]?
        do {
            contents = try FileContents.ofRegularFile(path(of: name))
        } catch let error as POSIXError where error.code == .ENOENT {
            throw MigrationFolderError.missing(file: prefix + name)
        } catch let error as POSIXError {
            throw MigrationFolderError.unreadable(file: prefix + name, code: error.code.rawValue)
        }
        guard let contents else {
            throw MigrationFolderError.notARegularFile(file: prefix + name)
        }
        return try SQLFile(name: prefix + name, contents: contents)
    }
}

extension SQLFolder {
    /// A folder beside the migrations. Errors name its files with its path.
    ///
    /// - Parameter ofStranger: Whether no link may leave its repository.
    init(named path: String, ofStranger: Bool) {
        self.init(
            path: path,
            repository: ofStranger ? Repository(of: path) : nil,
            prefix: path.hasSuffix("/") ? path : path + "/"
        )
    }
}
