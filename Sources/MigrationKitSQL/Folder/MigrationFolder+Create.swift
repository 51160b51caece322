import Foundation
import MigrationKitCommon

/// How a new migration is numbered.
public enum MigrationNumbering: Equatable, Sendable {
    /// As the folder's latest migration is: a date and time after one, the next number otherwise.
    case asLatest

    /// The date and time in UTC, such as `20240105120000`.
    case timestamp
}

extension MigrationFolder {
    /// Writes the files of a new migration, with nothing in them yet but the markers or comments of
    /// the folder's form. As long as nothing else is in them, the migration is a draft: see
    /// ``drafts``.
    ///
    /// - Parameters:
    ///   - name: What the migration does, in a few words, such as `add tags`. Spaces become
    ///     underscores.
    ///   - path: The folder's path. It is created where there is none.
    ///   - format: The form of the files; that of the folder's latest migration where it is `nil`,
    ///     and dbmate's in an empty folder.
    ///   - numbering: How the migration is numbered.
    ///   - now: The time for a number that is one.
    /// - Returns: The identifier, and the paths of the files.
    /// - Throws: ``MigrationCreationError``; ``MigrationFolderError`` if the names of the folder's
    ///   migrations are out of order, or the latest one can't be read.
    public static func create(
        _ name: String,
        in path: String,
        format: MigrationFormat? = nil,
        numbering: MigrationNumbering = .asLatest,
        now: Date = Date()
    ) throws -> (identifier: String, files: [String]) {
        let words = name.split { $0 == " " || $0 == "_" }.joined(separator: "_")
        // A dot would make another ending of it: .up.sql is one of a pair.
        let isUsable = words.allSatisfy { $0.isLetter || $0.isNumber || "_-+".contains($0) }
        guard !words.isEmpty, isUsable else {
            throw MigrationCreationError.unusableName(name)
        }
        return try alone(in: path) {
            try write(words, in: path, format: format, numbering: numbering, now: now)
        }
    }

    /// Keeps others from creating a migration in the folder at the same moment, with the same
    /// number. The folder is made if it is not there.
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
        // Where the folder can't be locked, nobody can write into it either, or there is one writer.
        if descriptor >= 0 { flock(descriptor, LOCK_EX) }
        defer { if descriptor >= 0 { close(descriptor) } }
        return try body()
    }

    private static func write(
        _ words: String,
        in path: String,
        format: MigrationFormat?,
        numbering: MigrationNumbering,
        now: Date
    ) throws -> (identifier: String, files: [String]) {
        let folder = SQLFolder(path: path)
        let existing = try MigrationFiles.group(folder.migrationFiles())
        let latest = existing.last
        let known = try latest.map { try MigrationSource($0, in: folder).format }
        if let format, let known, format != known, let latest {
            throw MigrationCreationError.otherFormat(format, known, file: latest.up.path)
        }
        let form = (format ?? known ?? .dbmate).implementation
        let number = number(after: latest?.up, format: form, numbering: numbering, now: now)
        let identifier = form.identifier(number: number, words: words)
        let takesBack = existing.isEmpty || existing.contains { $0.down != nil }
        let files = form.template(for: identifier, takesBack: takesBack)
        return (identifier, try write(files, in: path))
    }

    private static func number(
        after latest: MigrationFileName?,
        format: any FolderFormat,
        numbering: MigrationNumbering,
        now: Date
    ) -> String {
        let digits = latest.map { format.number(in: $0.identifier) } ?? format.zero
        func isLater(_ number: String) -> Bool {
            guard let latest else { return true }
            return format.version(of: number).map { $0 > latest.version } ?? false
        }
        let isTime = digits.count { $0.isNumber } >= 12
        if numbering == .timestamp || isTime {
            let time = timestamp(now, dashes: digits.contains("-"))
            // A clock that is behind must not put the migration before one that is there.
            if isLater(time) { return time }
        }
        let next = successor(of: digits)
        // As texts, which diesel's versions are, 10 comes before 9, and 90 behind it.
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
                // One of a pair alone would be in the way of the next try.
                written.forEach { try? FileManager.default.removeItem(at: $0) }
                throw MigrationCreationError.cannotWrite(path: "\(folder)/\(file.path)", error)
            }
            return "\(folder)/\(file.path)"
        }
    }

    /// The next number, as wide as the one before it.
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
