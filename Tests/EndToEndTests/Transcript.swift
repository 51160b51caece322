import Foundation
import TestSupport
import Testing

/// What somebody sees who runs commands in a folder of theirs, one after the other, without what
/// differs from run to run.
///
/// The database is `notes.db`, whose raw key is in the file `key`: every command that opens it is
/// given that file by the environment, and `--raw-key`, which the transcript doesn't show.
struct Transcript {
    let tool: Tool
    /// The secret store that is there, for as long as commands run.
    private let secrets: PrivateSecretService?
    /// Everything so far.
    private(set) var text = ""
    /// The JSON documents so far, as they were printed.
    private(set) var documents: [DocumentSchema.Document] = []

    /// - Parameter secrets: The secret store that is there, if one is.
    init(secrets: PrivateSecretService? = nil) throws {
        var tool = try Tool(environment: secrets?.environment ?? [:], isRawKey: true)
        tool.environment["MIGRATIONKIT_DB_PATH"] = "notes.db"
        if secrets == nil {
            tool.environment["MIGRATIONKIT_PASSWORD_FILE"] = "password"
        }
        self.tool = tool
        self.secrets = secrets
    }

    /// Runs a command of words without spaces, and shows it with all that it prints.
    ///
    /// - Parameter hasKey: Whether the environment names the key.
    mutating func run(_ command: String, input: String = "", hasKey: Bool = true) throws {
        let words = command.split(separator: " ").map(String.init)
        let opensStore =
            hasKey
            && !["init", "create", "explain", "schema-dump", "key", "--version"].contains(words[0])
            && words.prefix(2) != ["fleet", "report"]
        var environment = tool.environment
        if !hasKey { environment["MIGRATIONKIT_PASSWORD_FILE"] = nil }
        let result = try TestSupport.run(
            "/usr/bin/env",
            ["-C", tool.folder.path, builtExecutable("migrationkit-cli")]
                + words + (opensStore ? ["--raw-key"] : []),
            environment: environment,
            input: input.utf8,
            newSession: true
        )
        let errors = replacingWhatDiffers(in: result.stderr)
        // But for an error's first line, which says it all, for a place in a file with what is there,
        // and for what is indented further, such as a command to copy.
        let isForFile =
            ["schema-dump", "schema-diff"].contains(words[0]) || words.contains("--json")
            || words.contains("github") || words.contains("junit")
        for line in (isForFile ? "" : result.stdout).split(separator: "\n")
            + errors.split(separator: "\n").dropFirst()
        where !line.hasPrefix("    ") && !line.contains(/^[^ ]+:[0-9]+:[0-9]+:\s/) {
            #expect(line.count <= 80, "\(command): \(line)")
        }
        #expect(!result.stderr.contains(tool.password))

        if !hasKey { note("no key in the environment:") }
        var block = "$ migrationkit-cli \(command)\n" + replacingWhatDiffers(in: result.stdout)
        if !errors.isEmpty { block += "--- standard error\n" + errors }
        if result.status != 0 {
            block += "--- exit \(result.status.map(String.init) ?? "by a signal")\n"
        }
        text += (text.isEmpty ? "" : "\n") + block
        documents += DocumentSchema.Document.all(
            of: words,
            output: result.stdout,
            errorOutput: result.stderr
        )
    }

    /// Shows what is in a file.
    mutating func show(_ name: String) throws {
        let content = String(decoding: try tool.folder.data(name), as: UTF8.self)
        text += "$ cat \(name)\n" + replacingWhatDiffers(in: content)
    }

    /// Shows what somebody does between two commands.
    mutating func note(_ line: String) {
        text += (text.isEmpty ? "" : "\n") + "# \(line)\n"
    }

    /// Runs SQL on the database, as another program would.
    ///
    /// - Parameters:
    ///   - compatibility: The SQLCipher version whose format the other program uses.
    ///   - isPlaintext: Whether the other program knows no encryption.
    mutating func shell(
        compatibility: Int? = nil,
        isPlaintext: Bool = false,
        _ sql: String
    ) throws {
        let version = compatibility.map { ", with SQLCipher \($0)" } ?? ""
        note("another program\(isPlaintext ? ", without encryption" : version): \(sql)")
        _ = try SQLCipherShell.run(
            tool.folder.path("notes.db"),
            key: isPlaintext ? nil : "x'\(tool.password)'",
            compatibility: compatibility,
            sql
        )
        // Whatever the umask.
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o600],
            ofItemAtPath: tool.folder.path("notes.db")
        )
    }

    /// Flips a bit of a file, as a bad disk would.
    mutating func flipBit(_ name: String, at offset: Int) throws {
        note("a bit of \(name) flips, in byte \(offset)")
        var data = try tool.folder.data(name)
        data[offset] ^= 1
        try tool.folder.write(name, data)
    }

    /// Gives others rights to a file, or takes them.
    mutating func setMode(_ name: String, _ mode: Int) throws {
        note("the mode of \(name) becomes 0\(String(mode, radix: 8))")
        try FileManager.default.setAttributes(
            [.posixPermissions: mode],
            ofItemAtPath: tool.folder.path(name)
        )
    }

    // MARK: - Files

    /// Writes a migration.
    func write(_ name: String, up: String, down: String? = nil) throws {
        try tool.write(name, up: up, down: down)
    }

    /// Writes the three migrations of the scenes.
    func writeNotes() throws {
        try write(
            "0001_create_folders",
            up: """
                CREATE TABLE folders (
                    id INTEGER PRIMARY KEY,
                    name TEXT NOT NULL UNIQUE
                ) STRICT;
                INSERT INTO folders (name) VALUES ('Inbox'), ('Archive');
                """,
            down: "DROP TABLE folders;"
        )
        try write(
            "0002_create_notes",
            up: """
                CREATE TABLE notes (
                    id INTEGER PRIMARY KEY,
                    folder INTEGER NOT NULL REFERENCES folders (id) ON DELETE CASCADE,
                    title TEXT NOT NULL DEFAULT '',
                    length INTEGER GENERATED ALWAYS AS (length(title)) VIRTUAL
                ) STRICT;
                CREATE INDEX notes_title ON notes (title);
                """,
            down: "DROP TABLE notes;"
        )
        try write(
            "0003_add_overview",
            up: """
                CREATE VIEW overview AS SELECT count(*) AS notes FROM notes;
                CREATE TRIGGER notes_titled AFTER INSERT ON notes WHEN new.title = '' BEGIN
                    UPDATE notes SET title = 'Untitled' WHERE id = new.id;
                END;
                """,
            down: "DROP TRIGGER notes_titled; DROP VIEW overview;"
        )
    }

    private func replacingWhatDiffers(in output: String) -> String {
        output.replacingWhatDiffers(folder: tool.folder.path, key: tool.password)
    }
}

// MARK: - What Differs

extension String {
    private static let salt = "00112233445566778899aabbccddeeff"

    /// What a command prints, without what differs from run to run. Dates keep their width, so that
    /// columns do.
    ///
    /// - Parameters:
    ///   - folder: Where the command ran.
    ///   - key: The database's key.
    func replacingWhatDiffers(folder: String, key: String) -> String {
        self
            .replacing(folder, with: "FOLDER")
            .replacing(key, with: "<key>")
            .replacing(/"(seconds|copying|migrating|comparing|verifying)":[0-9.e+-]+/) {
                "\"\($0.1)\":0.001"
            }
            .replacing(/"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z"/, with: "\"2000-01-01T00:00:00Z\"")
            .replacing(
                /main 20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z( \([0-9]+\))?/,
                with: "main YYYY-MM-DDThh:mm:ssZ"
            )
            .replacing(
                /[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2} [+-][0-9]{4}/,
                with: "YYYY-MM-DD hh:mm +zzzz"
            )
            .replacing(/\b20[0-9]{2}-[0-9]{2}-[0-9]{2}\b/, with: "YYYY-MM-DD")
            .replacing(/\b20[0-9]{12}/, with: "YYYYMMDDhhmmss")
            .replacing(/"salt":"[0-9a-f]{32}"/, with: "\"salt\":\"\(Self.salt)\"")
            .replacing(/(?m)^(Salt +)[0-9a-f]{32}$/) { $0.1 + Self.salt }
            .replacing(/"owner":"[^"]*"/, with: "\"owner\":\"me\"")
            .replacing(/"ownerID":[0-9]+/, with: "\"ownerID\":1000")
            .replacing(/, owner .+/, with: ", owner me")
            .replacing(/"cipherVersion":"[^"]*"/, with: "\"cipherVersion\":\"<version>\"")
            .replacing(/"(sqlcipher|sqlite|libcrypto)":"[^"]*"/) { "\"\($0.1)\":\"<version>\"" }
            .replacing(/"version":"[0-9.]+"}/, with: "\"version\":\"<version>\"}")
            .replacing(/(?m)^(Read with +SQLCipher ).+$/) { $0.1 + "<version>" }
            .replacing(/\bprocess [0-9]+ \(sh\)/, with: "process 4711 (sh)")
            // As many items as were made before.
            .replacing(/secrets\/collection\/login\/[0-9]+/, with: "secrets/collection/login/47")
            .replacing(/"openIn":\[{"identifier":[0-9]+/, with: "\"openIn\":[{\"identifier\":4711")
            // What is known of the engine depends on which it is.
            .replacing(/(?m)^note: the SQLite in this program has faults .+\n( +.+\n)*/, with: "")
            .replacing(/(?m)^Its faults .+\n( {10,}.+\n)?/, with: "")
            // It depends on how busy the machine is.
            .replacing(/(?m)^looking for the salt: .+\n/, with: "")
            .replacing(/"engineFaults":\[[^\]]*\]/, with: #""engineFaults":["wal-reset"]"#)
            .replacing(/(?m)^Known faults of this engine:\n( .+\n)*/, with: "")
            .replacing(
                /"faults":\[[^\]]*\]/,
                with: #""faults":[{"effect":"…","fixedIn":"…","name":"…","remedy":"…"}]"#
            )
            .replacing(/(?m)^((SQLCipher|SQLite): ).+$/) { $0.1 + "<version>" }
            .replacing(/(?m)^(seconds [a-z]+: )[0-9.]+$/) { $0.1 + "0.001" }
            .replacing(/(?m)^([0-9]{4}_[a-z_]+ +)[0-9]\.[0-9]{3}( +[0-9]+ +[0-9]+)$/) {
                "\($0.1)0.001\($0.2)"
            }
            .replacingDurations()
            .replacing(/\b[0-9]+(\.[0-9])? m?s(?=[:.]?\n)/, with: "<n> ms")
    }
}

extension String {
    /// Replaces the cells of a column `TOOK`, and makes it as wide as it is where nothing is slow.
    fileprivate func replacingDurations() -> String {
        let lines = split(separator: "\n", omittingEmptySubsequences: false).map(Array.init)
        guard let heading = lines.first.map({ String($0) }),
            let took = heading.range(of: "TOOK"),
            let next = heading.range(of: "MIGRATION")
        else { return self }
        let start = heading.distance(from: heading.startIndex, to: took.lowerBound)
        let end = heading.distance(from: heading.startIndex, to: next.lowerBound)
        let tableEnd = lines.firstIndex(of: []) ?? lines.endIndex
        return lines.enumerated().map { index, line in
            guard index < tableEnd else { return String(line) }
            let cell = String(line[start..<end]).trimmingCharacters(in: .whitespaces)
            let shown = cell.isEmpty || cell == "TOOK" ? cell : "<n> ms"
            return String(line[..<start]) + shown.padding(toLength: 8, withPad: " ", startingAt: 0)
                + String(line[end...])
        }.joined(separator: "\n")
    }
}
