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
        let migrations = try contents().sorted().flatMap { name in
            // In what is printed, such a name could be a line of its own.
            let shown = name.withoutControlCharacters
            if shown != name, try name.contains(".sql") || isFolder(name) {
                throw MigrationFolderError.unexpectedName(file: shown)
            }
            do {
                if let file = try MigrationFileName.read(name, as: pattern) { return [file] }
            } catch MigrationFolderError.unexpectedName {
                unexpected.append(name)
                return []
            }
            guard pattern == nil, !name.hasPrefix("."), try isFolder(name) else { return [] }
            try checkPlace(of: name)
            return try MigrationFormat.implementations.flatMap {
                try $0.fileNames(inFolder: name, contents: subfolder(name).contents)
            }
        }
        // No other tool has pairs and ignores the rest. A numbered file among them is sqlx's, unless a
        // name is only golang-migrate's.
        let isGolang = migrations.contains(where: \.isOnlyOfGolangMigrate)
        let others = migrations.filter { isGolang && $0.format == nil }
        let used = isGolang ? migrations.filter { $0.format != nil } : migrations
        let isIgnoring = !used.isEmpty && used.allSatisfy { $0.format == .pairs }
        if let first = unexpected.first, !isIgnoring {
            throw MigrationFolderError.unexpectedName(file: first)
        }
        return (used, (unexpected + others.map(\.path)).sorted())
    }

    /// The names of the SQL files, whatever they are, in order.
    func sqlFiles() throws -> [String] {
        try contents().sorted().filter { name in
            guard !name.hasPrefix("."), name.lowercased().hasSuffix(".sql") else { return false }
            let shown = name.withoutControlCharacters
            guard shown == name else { throw MigrationFolderError.unexpectedName(file: shown) }
            return try !isFolder(name)
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

    /// Whether something with this name exists.
    func has(_ name: String) -> Bool {
        if let files { return files[name] != nil }
        return FileManager.default.fileExists(atPath: path(of: name))
    }

    private func isFolder(_ name: String) throws -> Bool {
        if let files { return files.keys.contains { $0.hasPrefix(name + "/") } }
        var status = stat()
        guard stat(path(of: name), &status) == 0 else {
            // A link may be dangling.
            if [ENOENT, ENOTDIR, ELOOP].contains(errno) { return false }
            throw MigrationFolderError.unreadable(file: name, code: errno)
        }
        return status.st_mode & S_IFMT == S_IFDIR
    }

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
