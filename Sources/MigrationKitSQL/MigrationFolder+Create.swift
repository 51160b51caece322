import Foundation

/// How a new migration is numbered.
public enum MigrationNumbering: Equatable, Sendable {
    /// As the folder's latest migration is: a date and time after one, the next number otherwise.
    case asLatest

    /// The date and time in UTC, such as `20240105120000`.
    case timestamp
}

extension MigrationFolder {
    /// Writes the files of a new migration, with nothing in them yet but the markers or comments of
    /// the folder's form. As long as nothing else is in them, the folder can't be used:
    /// ``MigrationFolderError/emptyUpPart(at:)``.
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
        let isUsable = words.allSatisfy { $0.isLetter || $0.isNumber || "_-+.".contains($0) }
        guard !words.isEmpty, isUsable, !words.hasPrefix(".") else {
            throw MigrationCreationError.unusableName(name)
        }

        let folder = SQLFolder(path: path)
        var existing: [MigrationFiles] = []
        do {
            existing = try MigrationFiles.group(folder.migrationFiles())
        } catch MigrationFolderError.noSuchFolder {
            // It is about to be created.
        }
        let latest = existing.last
        let known = try latest.map { try MigrationSource($0, in: folder).format }
        if let format, let known, format != known, let latest {
            throw MigrationCreationError.otherFormat(format, known, file: latest.up.path)
        }
        let form = format ?? known ?? .dbmate
        let number = number(after: latest?.up, format: form, numbering: numbering, now: now)
        let template = MigrationTemplate(
            format: form,
            identifier: form == .flyway ? "V\(number)__\(words)" : "\(number)_\(words)",
            takesBack: existing.isEmpty || existing.contains { $0.down != nil }
        )
        return (template.identifier, try template.write(in: path))
    }

    private static func number(
        after latest: MigrationFileName?,
        format: MigrationFormat,
        numbering: MigrationNumbering,
        now: Date
    ) -> String {
        let digits =
            latest.map { latest in
                String(
                    latest.identifier.drop { $0 == "V" }
                        .prefix { $0.isASCII && ($0.isNumber || $0 == "-") }
                )
            } ?? (format == .diesel ? "0000-00-00-000000" : "0000")
        let isTime = digits.count { $0.isNumber } >= 12
        guard numbering == .timestamp || isTime else { return successor(of: digits) }

        let time = timestamp(now, dashes: format == .diesel && digits.contains("-"))
        // A clock that is behind must not put the migration before one that is there.
        let isLater =
            latest.map { latest in
                MigrationVersion(of: time.filter { $0 != "-" }, separators: [])
                    .map { $0 > latest.version } ?? false
            } ?? true
        return isLater ? time : successor(of: digits)
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

/// The files of a migration that is still to be written.
private struct MigrationTemplate {
    let format: MigrationFormat
    let identifier: String
    /// Whether it has a part that takes it back.
    let takesBack: Bool

    /// The paths in the folder, with the text of each.
    private var files: [(path: String, text: String)] {
        let up = "-- Applies \(identifier).\n"
        let down = "-- Takes \(identifier) back.\n"
        switch format {
        case .dbmate:
            return [("\(identifier).sql", "-- migrate:up\n\n\n-- migrate:down\n\n")]
        case .goose:
            return [("\(identifier).sql", "-- +goose Up\n\n\n-- +goose Down\n\n")]
        case .upOnly:
            return [("\(identifier).sql", up)]
        case .pairs:
            return [("\(identifier).up.sql", up), ("\(identifier).down.sql", down)]
        case .diesel:
            return [("\(identifier)/up.sql", up), ("\(identifier)/down.sql", down)]
        case .flyway:
            let undo = ("U\(identifier.dropFirst()).sql", down)
            return [("\(identifier).sql", up)] + (takesBack ? [undo] : [])
        }
    }

    /// - Returns: The paths of the files.
    func write(in folder: String) throws -> [String] {
        try files.map { file in
            let url = URL(fileURLWithPath: folder).appendingPathComponent(file.path)
            do {
                try FileManager.default.createDirectory(
                    at: url.deletingLastPathComponent(),
                    withIntermediateDirectories: true
                )
                try Data(file.text.utf8).write(to: url, options: .withoutOverwriting)
            } catch {
                let underlying = (error as? CocoaError)?.underlying as? POSIXError
                throw MigrationCreationError.cannotWrite(
                    path: "\(folder)/\(file.path)",
                    reason: underlying.map { String(cString: strerror($0.code.rawValue)) }?
                        .lowercased() ?? error.localizedDescription
                )
            }
            return "\(folder)/\(file.path)"
        }
    }
}
