import Foundation
import MigrationKitCommon

extension MigrationFolder {
    /// Writes the files of a new migration. Without SQL, they have only the markers or comments of
    /// the folder's format. Until something else is written into them, the migration is a draft: see
    /// ``drafts``.
    ///
    /// - Parameters:
    ///   - name: What the migration does, in a few words, such as `add tags`. Spaces become
    ///     underscores.
    ///   - path: The folder's path. It is created if it doesn't exist.
    ///   - format: The format of the files; `nil` for that of the folder's latest migration or, in
    ///     an empty folder, dbmate's.
    ///   - numbering: How the migration is numbered.
    ///   - names: The names of the folder's files, if they are no known tool's.
    ///   - sql: What is written into them.
    ///   - now: The time, if that is the number.
    /// - Returns: The identifier, and the paths of the files.
    /// - Throws: ``MigrationCreationError``; ``MigrationFolderError`` if the names of the folder's
    ///   migrations are out of order, or the latest one can't be read.
    public static func create(
        _ name: String,
        in path: String,
        format: MigrationFormat? = nil,
        numbering: MigrationNumbering = .asLatest,
        names: MigrationNamePattern? = nil,
        sql: NewMigrationSQL = NewMigrationSQL(),
        now: Date = Date()
    ) throws -> (identifier: String, files: [String]) {
        let words = name.split { $0 == " " || $0 == "_" }.joined(separator: "_")
        // A dot would start an ending: .up.sql is one of a pair.
        let isUsable = words.allSatisfy { $0.isLetter || $0.isNumber || "_-+".contains($0) }
        guard !words.isEmpty, isUsable else {
            throw MigrationCreationError.unusableName(name)
        }
        return try alone(in: path) {
            let folder = SQLFolder(path: path, pattern: names)
            let new = try new(words, in: folder, format, numbering, sql, now)
            return (new.identifier, try write(new.files, in: path))
        }
    }

    /// The files that ``create(_:in:format:numbering:names:sql:now:)`` would write now.
    ///
    /// - Parameters:
    ///   - words: What the migration does, with underscores instead of spaces.
    ///   - path: The folder's path; `nil` if there is none, for dbmate's format.
    ///   - names: The names of the folder's files, if they are no known tool's.
    ///   - sql: What is written into them.
    package static func preview(
        _ words: String,
        in path: String?,
        names: MigrationNamePattern? = nil,
        sql: NewMigrationSQL
    ) throws -> [(path: String, text: String)] {
        let folder = path.map { SQLFolder(path: $0, pattern: names) }
        if let folder { return try new(words, in: folder, nil, .asLatest, sql, Date()).files }
        let form = MigrationFormat.dbmate.implementation
        let identifier = form.identifier(number: successor(of: form.zero), words: words)
        return form.files(for: identifier, takesBack: true, sql: sql)
    }

    /// The format in which ``create(_:in:format:numbering:names:sql:now:)`` would write now.
    ///
    /// - Parameters:
    ///   - path: The folder's path.
    ///   - format: The format that is asked for.
    ///   - names: The names of the folder's files, if they are no known tool's.
    package static func newFormat(
        in path: String,
        _ format: MigrationFormat? = nil,
        names: MigrationNamePattern? = nil
    ) throws -> MigrationFormat {
        let folder = SQLFolder(path: path, pattern: names)
        guard let latest = try MigrationFiles.group(folder.migrationFiles()).last else {
            return try firstFormat(format, in: folder)
        }
        return try MigrationSource(latest, in: folder).format
    }

    /// A folder of migrations in memory.
    ///
    /// - Parameters:
    ///   - migrations: The words of their names, and their SQL.
    ///   - format: The folder's format.
    package static func inMemory(
        _ migrations: [(words: String, sql: NewMigrationSQL)],
        format: MigrationFormat
    ) throws -> MigrationFolder {
        let form = format.implementation
        var files: [String: [UInt8]] = [:]
        var number = form.zero
        for (words, sql) in migrations {
            number = successor(of: number)
            let identifier = form.identifier(number: number, words: words)
            for file in form.files(for: identifier, takesBack: true, sql: sql) {
                files[file.path] = Array(file.text.utf8)
            }
        }
        return try MigrationFolder(path: "migrations", files: files)
    }

    /// Keeps other processes from creating a migration in the folder at the same time, with the
    /// same number. Creates the folder if it doesn't exist.
    private static func alone<Value>(in path: String, _ body: () throws -> Value) throws -> Value {
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFDIR {
            throw MigrationFolderError.notAFolder(path: path)
        }
        do {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true
            )
        } catch {
            throw MigrationCreationError.cannotWrite(path: path, error)
        }
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        // If the folder can't be locked, nobody can write to it, or there is only one writer.
        if descriptor >= 0 { flock(descriptor, LOCK_EX) }
        defer { if descriptor >= 0 { close(descriptor) } }
        return try body()
    }

    private static func new(
        _ words: String,
        in folder: SQLFolder,
        _ format: MigrationFormat?,
        _ numbering: MigrationNumbering,
        _ sql: NewMigrationSQL,
        _ now: Date
    ) throws -> (identifier: String, files: [(path: String, text: String)]) {
        let existing = try MigrationFiles.group(folder.migrationFiles())
        let latest = existing.last
        let known = try latest.map { try MigrationSource($0, in: folder).format }
        if let format, let known, format != known, let latest {
            throw MigrationCreationError.otherFormat(format, known, file: latest.up.path)
        }
        let form = try (known ?? firstFormat(format, in: folder)).implementation
        let pattern = folder.pattern
        let number = number(
            after: latest?.up,
            format: form,
            pattern: pattern,
            numbering: numbering,
            now: now
        )
        let identifier =
            pattern?.identifier(number: number, words: words)
            ?? form.identifier(number: number, words: words)
        let takesBack = existing.isEmpty || existing.contains { $0.down != nil }
        return (identifier, form.files(for: identifier, takesBack: takesBack, sql: sql))
    }

    /// The format of an empty folder's first migration.
    ///
    /// - Throws: ``MigrationCreationError/unusableFormat(_:pattern:)``.
    private static func firstFormat(
        _ format: MigrationFormat?,
        in folder: SQLFolder
    ) throws -> MigrationFormat {
        guard let pattern = folder.pattern else { return format ?? .dbmate }
        let possible: [MigrationFormat] =
            pattern.hasDirection ? [.pairs] : [.dbmate, .goose, .upOnly]
        if let format, !possible.contains(format) {
            throw MigrationCreationError.unusableFormat(format, pattern: pattern)
        }
        return format ?? possible[0]
    }

    private static func number(
        after latest: MigrationFileName?,
        format: any FolderFormat,
        pattern: MigrationNamePattern?,
        numbering: MigrationNumbering,
        now: Date
    ) -> String {
        let digits =
            latest.map { pattern?.number(in: $0.identifier) ?? format.number(in: $0.identifier) }
            ?? format.zero
        func isLater(_ number: String) -> Bool {
            guard let latest else { return true }
            return format.version(of: number).map { $0 > latest.version } ?? false
        }
        if case .number(let number) = numbering {
            let text = String(number)
            let padded = String(repeating: "0", count: max(digits.count - text.count, 0)) + text
            if isLater(padded) { return padded }
        }
        let isTime = digits.count { $0.isNumber } >= 12
        if numbering == .timestamp || isTime {
            let time = timestamp(now, dashes: digits.contains("-"))
            // If the clock is slow, the migration must still come after the existing ones.
            if isLater(time) { return time }
        }
        let next = successor(of: digits)
        // Diesel compares versions as text: 10 comes before 9, and 90 after it.
        return isLater(next) ? next : digits + "0"
    }

    /// - Returns: The paths of the files.
    private static func write(
        _ files: [(path: String, text: String)],
        in folder: String
    ) throws -> [String] {
        var written: [URL] = []
        return try files.map { file in
            let url = URL(fileURLWithPath: folder).appendingPathComponent(file.path)
            do {
                try FileManager.default.createDirectory(
                    at: url.deletingLastPathComponent(),
                    withIntermediateDirectories: true
                )
                do {
                    try NewFile.write(file.text.utf8, to: url.path, replaces: false)
                } catch let error as NewFileError {
                    throw POSIXError(errno: error.code)
                }
                written.append(url)
            } catch {
                // One file of a pair alone would prevent the next attempt.
                written.forEach { try? FileManager.default.removeItem(at: $0) }
                throw MigrationCreationError.cannotWrite(path: "\(folder)/\(file.path)", error)
            }
            return "\(folder)/\(file.path)"
        }
    }

    /// The next number, with the same width.
    private static func successor(of digits: String) -> String {
        var result = Array(digits)
        for index in result.indices.reversed() {
            guard let value = result[index].wholeNumberValue else { continue }
            result[index] = value == 9 ? "0" : Character(String(value + 1))
            if value < 9 { return String(result) }
        }
        return "1" + String(result)
    }

    private static func timestamp(_ date: Date, dashes: Bool) -> String {
        var seconds = time_t(date.timeIntervalSince1970)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        var text = [CChar](repeating: 0, count: 32)
        strftime(&text, text.count, dashes ? "%Y-%m-%d-%H%M%S" : "%Y%m%d%H%M%S", &parts)
        return String(
            decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) },
            as: UTF8.self
        )
    }
}
