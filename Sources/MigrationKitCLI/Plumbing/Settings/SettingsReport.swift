import MigrationKitKeys
import MigrationKit
import MigrationKitLint
import TOMLKit

extension CommandContext {
    /// Prints every setting with its value and where that comes from. Opens no database, and shows
    /// no secret.
    func showSettings(of command: some StoreCommand, json: Bool) throws {
        settingsSource.use(command.migrations.config)
        let report = try SettingsReport(of: command, in: self)
        if json { return try printJSON(report) }
        output(report.table)
        output("")
        output(
            report.keySource.map { "The key comes from: \($0).".printable }
                ?? "No key source is given."
        )
    }
}

/// What `status --show-settings` prints.
private struct SettingsReport: Encodable {
    struct Row {
        let name: String
        var value: SettingsFile.Value?
        var origin = SettingsOrigin.unset
        /// Whether the value is used. A key source isn't if another one overrides it.
        var isUsed = true
    }

    let rows: [Row]
    let keySource: String?

    init(of command: some StoreCommand, in context: CommandContext) throws {
        let settings = try context.settings()
        let opening = try command.database.resolved(
            in: context,
            for: .read,
            isPlaintext: command.encryption.noEncryption
        )
        let source = try opening.onlyKeySource()
        keySource = opening.isPlaintext ? nil : source?.description
        var rows = [try Self.configRow(settings, in: context)]
        let groups: [Any] = [
            command.database.file, command.database.keychain, command.database.secret,
            command.migrations,
        ]
        for key in context.settingsKeys {
            var row = Row(name: key.rawValue)
            let setting = key.setting
            let given = setting.option.flatMap { option in
                groups.lazy.compactMap { SettingsFile.Value(option: $0[keyPath: option]) }.first
            }
            if let given {
                (row.value, row.origin) = (given, .option(key.option))
            } else if let (value, origin) = try context.setting(key) {
                (row.value, row.origin) = (value, origin)
            } else if key == .migrations {
                (row.value, row.origin) = (.text(try context.defaultMigrations()), .byDefault)
            } else if let value = setting.standard {
                (row.value, row.origin) = (value, .byDefault)
            }
            if case .text(let text) = row.value { row.isUsed = setting.isUsed(text, opening) }
            rows.append(row)
        }
        rows += Self.secretRows(command.database.secret, opening, in: context)
        self.rows = rows
    }

    private static func configRow(
        _ settings: SettingsFile?,
        in context: CommandContext
    ) throws -> Row {
        let origin: SettingsOrigin =
            if settings == nil {
                .unset
            } else if context.settingsSource.config != nil {
                .option("--config")
            } else if context.environment.nonEmpty("MIGRATIONKIT_CONFIG") != nil {
                .environment("MIGRATIONKIT_CONFIG")
            } else if let folder = try context.folderAboveWithSettings {
                .folderAbove(realPath(folder) ?? folder)
            } else {
                .workingFolder
            }
        return Row(
            name: "config",
            value: (settings?.path).map(SettingsFile.Value.text),
            origin: origin
        )
    }

    /// Secrets: shows that they are set, but not their values.
    private static func secretRows(
        _ secret: KeyOptions<DatabasesKey>,
        _ opening: MigrationDatabaseOpenOptions,
        in context: CommandContext
    ) -> [Row] {
        var rows: [Row] = []
        for name in secret.sources.compactMap(\.option) where SettingsKey(rawValue: name) == nil {
            rows.append(Row(name: name, value: .text("set"), origin: .option("--\(name)")))
        }
        let variable = "MIGRATIONKIT_PASSWORD"
        if context.environment.secret(variable) != nil {
            var row = Row(name: "password", value: .text("set"), origin: .environment(variable))
            if case .environment = opening.keySource {} else { row.isUsed = false }
            rows.append(row)
        }
        return rows
    }
}

// MARK: - For People

extension SettingsReport {
    var table: String {
        let lines = rows.map { row in
            let origin = row.origin.description + (row.isUsed ? "" : ", not used")
            return [row.name, row.value?.description ?? "-", origin]
        }
        return MigrationKitCLI.table(["SETTING", "VALUE", "FROM"], lines, most: [20, 36])
    }
}

extension SettingsFile.Value: CustomStringConvertible {
    var description: String {
        switch self {
        case .text(let text): text.printable
        case .seconds(let seconds): "\(seconds.plainText) s"
        case .number(let number): "\(number)"
        case .flag(let flag): "\(flag)"
        case .indexes(let indexes):
            indexes.map { "\($0.table).\($0.index)".printable }.joined(separator: ", ")
        case .names(let names): names.map(\.printable).joined(separator: ", ")
        case .levels(let levels): Self.list(of: levels).joined(separator: ", ")
        }
    }

    /// For example `drop-table=off`.
    fileprivate static func list(of levels: [LintRule: LintLevel?]) -> [String] {
        levels.map { "\($0.rawValue)=\($1?.rawValue ?? "off")" }.sorted()
    }
}

extension SettingsOrigin: CustomStringConvertible {
    var description: String {
        switch self {
        case .option(let name): name
        case .environment(let variable): variable
        case .file(let path, let line): "\(path.printable):\(line)"
        case .workingFolder: "the working folder"
        case .folderAbove(let path): "the folder \(path.printable)"
        case .byDefault: "default"
        case .unset: "not set"
        }
    }
}

// MARK: - For Programs

extension SettingsReport {
    private enum CodingKeys: String, CodingKey {
        case settings, keySource
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(rows, forKey: .settings)
        try container.encodeIfPresent(keySource, forKey: .keySource)
    }
}

extension SettingsReport.Row: Encodable {
    private enum CodingKeys: String, CodingKey {
        case name, value, origin, at, line, used
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        switch value {
        case .text(let text): try container.encode(text, forKey: .value)
        // JSON has no infinity.
        case .seconds(let seconds) where seconds.isFinite:
            try container.encode(seconds, forKey: .value)
        case .number(let number): try container.encode(number, forKey: .value)
        case .seconds, nil: try container.encodeNil(forKey: .value)
        case .flag(let flag): try container.encode(flag, forKey: .value)
        case .indexes(let indexes):
            try container.encode(indexes.map { "\($0.table).\($0.index)" }, forKey: .value)
        case .names(let names): try container.encode(names, forKey: .value)
        case .levels(let levels):
            try container.encode(SettingsFile.Value.list(of: levels), forKey: .value)
        }
        switch origin {
        case .option(let name):
            try container.encode("option", forKey: .origin)
            try container.encode(name, forKey: .at)
        case .environment(let variable):
            try container.encode("environment", forKey: .origin)
            try container.encode(variable, forKey: .at)
        case .file(let path, let line):
            try container.encode("file", forKey: .origin)
            try container.encode(path, forKey: .at)
            try container.encode(line, forKey: .line)
        case .workingFolder: try container.encode("workingFolder", forKey: .origin)
        case .folderAbove(let path):
            try container.encode("folderAbove", forKey: .origin)
            try container.encode(path, forKey: .at)
        case .byDefault: try container.encode("default", forKey: .origin)
        case .unset: try container.encode("unset", forKey: .origin)
        }
        try container.encode(isUsed, forKey: .used)
    }
}

// MARK: - Settings Text

/// The text of a settings file: TOML. Its parser gives line numbers only for errors.
struct SettingsText {
    private let lines: [Substring]

    init(_ text: String) {
        lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
    }

    /// The settings, each with its line, in the order of the lines.
    ///
    /// - Parameter path: The file's path, for errors.
    /// - Throws: ``SettingsFileError/malformed(place:reason:)``.
    func settings(
        path: String
    ) throws -> [(name: String, value: any TOMLValueConvertible, line: Int)] {
        do {
            return try TOMLTable(string: lines.joined(separator: "\n"))
                .map { ($0.0, $0.1, line(of: $0.0)) }
                .sorted { $0.2 < $1.2 }
        } catch let error as TOMLParseError {
            let place = error.source.begin
            throw SettingsFileError.malformed(
                place: "\(path):\(place.line):\(place.column)",
                reason: Self.reason(error)
            )
        }
    }

    /// The first line with a secret, even if the parser would not reach it or accept it.
    var secret: (key: String, line: Int)? {
        for (index, line) in lines.enumerated() {
            guard let name = Self.nameOfValue(in: line) else { continue }
            let words = name.split(separator: ".").map(String.init)
            guard let word = words.first(where: Self.isSecret) else { continue }
            return (word, index + 1)
        }
        return nil
    }

    /// The name at the start of a line, bare or in quotes, if a value follows it. The equals sign
    /// may be missing, or a colon may be used instead.
    private static func nameOfValue(in line: Substring) -> Substring? {
        var rest = line.drop { $0.isWhitespace }
        let quote = rest.first.flatMap { "\"'".contains($0) ? $0 : nil }
        if quote != nil { rest.removeFirst() }
        let name = rest.prefix { $0.isLetter || $0.isNumber || "_-.".contains($0) }
        rest.removeFirst(name.count)
        if let quote {
            guard rest.first == quote else { return nil }
            rest.removeFirst()
        }
        guard let sign = rest.first(where: { !$0.isWhitespace }) else { return nil }
        let isValue = "=:\"'".contains(sign) || sign.isLetter || sign.isNumber
        return name.isEmpty || !isValue ? nil : name
    }

    /// Whether an unknown setting with this name would contain a secret.
    static func isSecret(_ name: String) -> Bool {
        // A rule may be about secrets.
        guard LintRule(rawValue: name) == nil else { return false }
        let name = name.lowercased().replacing("_", with: "-")
        guard name != "password-file", name != "password-command" else { return false }
        return ["key", "raw-key", "passwd", "pass", "pwd", "pin", "token"].contains(name)
            || ["password", "passphrase", "secret"].contains { name.contains($0) }
    }

    // MARK: -

    /// The line in which a setting begins; the last line if it can't be found.
    ///
    /// - Parameters:
    ///   - name: The setting, or a key of its table.
    ///   - table: The setting whose table has the key.
    func line(of name: String, in table: String? = nil) -> Int {
        for (index, line) in lines.enumerated() {
            var start = line.drop { $0 == " " || $0 == "\t" || $0 == "[" }
            if let table, start.hasPrefix("\(table).") { start = start.dropFirst(table.count + 1) }
            for form in [name, "\"\(name)\"", "'\(name)'"] where start.hasPrefix(form) {
                let rest = start.dropFirst(form.count).drop { $0 == " " || $0 == "\t" }
                guard let sign = rest.first, "=.]".contains(sign) else { continue }
                // In the middle of a string or an array, the lines so far aren't valid TOML.
                let before = lines[..<index].joined(separator: "\n")
                if (try? TOMLTable(string: before)) != nil { return index + 1 }
            }
        }
        return table.map { line(of: $0) } ?? lines.count
    }

    /// The parser's message, without quoted values.
    private static func reason(_ error: TOMLParseError) -> String {
        let text = error.description
            .replacing("Error while parsing ", with: "")
            .replacing(/'[0-9_+\-.]{2,}'/, with: "the number")
        return "this is not TOML: \(text)"
    }
}
