import Foundation
import MigrationKitCommon
import MigrationKitSQL

/// The files of a new project: those that exist, and those that are written.
struct ProjectFiles {
    private static let ignoreFile = ".gitignore"

    private let values: [SettingsKey: String]
    private let folder: String
    private let hasSettings: Bool
    private let hasFolder: Bool
    /// Whether the folder has no migration yet.
    let isFolderEmpty: Bool
    /// The lines that `.gitignore` lacks.
    private let ignored: [String]
    /// The text of `.gitignore`; `nil` if there is none.
    private let ignoreText: String?
    private let ignoreMode: mode_t?

    /// Looks at what exists, and changes nothing.
    init(_ values: [SettingsKey: String], hasSettings: Bool) throws {
        self.values = values
        self.hasSettings = hasSettings
        folder = values[.migrations] ?? MigrationsOptions.defaultFolder
        var status = stat()
        hasFolder = stat(folder, &status) == 0
        guard !hasFolder || status.st_mode & S_IFMT == S_IFDIR else {
            throw MigrationFolderError.notAFolder(path: folder)
        }
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder)
        isFolderEmpty = !hasFolder || names?.allSatisfy { $0.hasPrefix(".") } ?? false

        let hasIgnoreFile = lstat(Self.ignoreFile, &status) == 0
        guard !hasIgnoreFile || status.st_mode & S_IFMT == S_IFREG else {
            throw CommandError.cannotWriteProject(Self.ignoreFile, reason: "it is not a file")
        }
        ignoreMode = hasIgnoreFile ? status.st_mode & 0o7777 : nil
        do {
            ignoreText =
                try hasIgnoreFile ? String(contentsOfFile: Self.ignoreFile, encoding: .utf8) : nil
        } catch {
            throw CommandError.cannotWriteProject(
                Self.ignoreFile,
                reason: "it can't be read as text"
            )
        }
        let lines = Set((ignoreText ?? "").split(whereSeparator: \.isNewline).map(String.init))
        ignored = [
            // With what SQLite and the tool put beside it, such as the write-ahead log.
            values[.dbPath].flatMap(Self.pattern).map { $0 + "*" },
            values[.passwordFile].flatMap(Self.pattern),
        ].compactMap { $0 }.filter { !lines.contains($0) }
    }

    /// The line of `.gitignore` for a file; `nil` if it isn't in this folder.
    ///
    /// <https://git-scm.com/docs/gitignore#_pattern_format>
    private static func pattern(_ path: String) -> String? {
        let parts = path.split(separator: "/").filter { $0 != "." }
        guard !path.hasPrefix("/"), !path.hasPrefix("~/"), !parts.contains("..") else { return nil }
        return parts.joined(separator: "/").reduce(into: "/") { pattern, letter in
            pattern += "*?[\\ ".contains(letter) ? "\\\(letter)" : String(letter)
        }
    }

    private var settingsText: String {
        let order = [
            SettingsKey.dbPath, .migrations, .keychainService, .keychainAccount, .passwordFile,
        ]
        let lines = order.compactMap { key in
            values[key].map { value in
                let text = value.escaping("\\", as: "\\\\").escaping("\"", as: "\\\"")
                return "\(key.rawValue) = \"\(text)\""
            }
        }
        return (["# Settings of migrationkit-cli. Paths start at this file's folder."] + lines)
            .joined(separator: "\n") + "\n"
    }

    // MARK: - Writing

    /// Writes what is missing; the settings last, so that a run that failed can be repeated.
    func write() throws {
        if !hasFolder {
            try attempt(folder) {
                try FileManager.default.createDirectory(
                    atPath: folder,
                    withIntermediateDirectories: true
                )
            }
        }
        if !ignored.isEmpty {
            var text = ignoreText ?? ""
            if !text.isEmpty, !text.hasSuffix("\n") { text += "\n" }
            text += ignored.map { $0 + "\n" }.joined()
            try attempt(Self.ignoreFile) {
                try NewFile.write(
                    text.utf8,
                    to: Self.ignoreFile,
                    mode: ignoreMode,
                    replaces: ignoreText != nil
                )
            }
        }
        if !hasSettings {
            try attempt(SettingsFile.defaultName) {
                // A file that the group may write would not be read.
                try NewFile.write(
                    settingsText.utf8,
                    to: SettingsFile.defaultName,
                    mode: 0o644,
                    replaces: false
                )
            }
        }
    }

    private func attempt(_ path: String, _ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as NewFileError {
            throw CommandError.cannotWriteProject(path, reason: systemReason(error.code))
        } catch {
            let underlying =
                error as? POSIXError ?? (error as? CocoaError)?.underlying as? POSIXError
            let reason = underlying?.reason ?? error.localizedDescription
            throw CommandError.cannotWriteProject(path, reason: reason)
        }
    }

    // MARK: - What Is Said

    var created: [String] {
        (hasSettings ? [] : [SettingsFile.defaultName]) + (hasFolder ? [] : [folder])
            + (ignored.isEmpty || ignoreText != nil ? [] : [Self.ignoreFile])
    }

    var changed: [String] { ignored.isEmpty || ignoreText == nil ? [] : [Self.ignoreFile] }

    var existing: [String] {
        (hasSettings ? [SettingsFile.defaultName] : []) + (hasFolder ? [folder] : [])
            + (ignored.isEmpty && ignoreText != nil ? [Self.ignoreFile] : [])
    }

    func text(isDone: Bool) -> String {
        let (create, add) = isDone ? ("Created", "Added") : ("Would create", "Would add")
        let lines =
            created.map { "\(create) \($0)" }
            + changed.map { "\(add) \(ignored.joined(separator: " and ")) to \($0)" }
            + existing.map { "\($0) exists already, and is left as it is" }
        return lines.map(\.printable).joined(separator: "\n")
    }
}

extension CommandError {
    fileprivate static func cannotWriteProject(_ path: String, reason: String) -> CommandError {
        CommandError(
            ErrorCode("cannotWrite", .cannotCreate),
            "\(path) can't be written: \(reason)",
            "Check the folder. What was written before is kept: run 'init' again."
        )
    }
}
