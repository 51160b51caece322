import MigrationKitCommon
import Foundation

/// The files of a migration that is still to be written.
struct MigrationTemplate {
    let format: MigrationFormat
    let identifier: String
    /// Whether it has a part that takes it back.
    let takesBack: Bool

    private static let dbmate = "-- migrate:up\n\n\n-- migrate:down\n\n"
    private static let goose = "-- +goose Up\n\n\n-- +goose Down\n\n"

    private static func upComment(_ identifier: some StringProtocol) -> String {
        "-- Applies \(identifier)."
    }

    /// Whether a file that applies a migration has nothing in it but its template. White space
    /// around it makes no difference, nor does another name that the file was given since.
    static func isUnchanged(in file: SQLFile, format: MigrationFormat) -> Bool {
        let text = file.text(in: 0..<file.bytes.count)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        switch format {
        case .dbmate: return text == dbmate.trimmingCharacters(in: .whitespacesAndNewlines)
        case .goose: return text == goose.trimmingCharacters(in: .whitespacesAndNewlines)
        case .upOnly, .pairs, .diesel, .flyway:
            let words = text.split(separator: " ")
            return words.count == 3 && text == upComment(words[2].dropLast())
        }
    }

    /// The paths in the folder, with the text of each.
    private var files: [(path: String, text: String)] {
        let up = Self.upComment(identifier) + "\n"
        let down = "-- Takes \(identifier) back.\n"
        switch format {
        case .dbmate:
            return [("\(identifier).sql", Self.dbmate)]
        case .goose:
            return [("\(identifier).sql", Self.goose)]
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
        var written: [URL] = []
        return try files.map { file in
            let url = URL(fileURLWithPath: folder).appendingPathComponent(file.path)
            do {
                try FileManager.default.createDirectory(
                    at: url.deletingLastPathComponent(),
                    withIntermediateDirectories: true
                )
                let code = WholeFile.write(file.text.utf8, to: url.path, replaces: false)
                guard code == 0 else { throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO) }
                written.append(url)
            } catch {
                // One of a pair alone would be in the way of the next try.
                written.forEach { try? FileManager.default.removeItem(at: $0) }
                throw MigrationCreationError.cannotWrite(path: "\(folder)/\(file.path)", error)
            }
            return "\(folder)/\(file.path)"
        }
    }
}
