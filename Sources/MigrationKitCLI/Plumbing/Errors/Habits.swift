import ArgumentParser

/// What people type who know other tools, and what they mean here.
enum Habits {
    // MARK: - Commands

    /// What a word means in the place of a command.
    ///
    /// - Parameters:
    ///   - group: The command whose subcommands are looked at, such as `key`; `nil` for the program.
    ///   - next: The word behind it, as in `schema dump`.
    ///   - names: The names of the commands that could stand there.
    /// - Returns: What to type instead, after the program's name; `nil` if nothing comes close.
    static func command(
        _ word: String,
        in group: String?,
        before next: String?,
        among names: [String]
    ) -> String? {
        let word = word.lowercased()
        let isCommand = { (name: Substring) in names.contains { $0 == name } }
        guard group == nil else {
            let meant = subcommands[word]?.first { isCommand($0[...]) }
            return (meant ?? nearest(to: word, among: names)).map { "\(group ?? "") \($0)" }
        }
        // Such as 'schema dump' and 'db:migrate'.
        let parts = word.split(separator: ":", maxSplits: 1).map(String.init)
        if let object = parts.first, objects.contains(object),
            let deed = parts.count == 2 ? parts[1] : next?.lowercased()
        {
            let joined = "\(object)-\(deed)"
            let meant = phrases["\(object) \(deed)"] ?? commands[deed]
            for name in [joined, meant ?? deed] where isCommand(name.prefix { $0 != " " }) {
                return name
            }
        }
        if let meant = commands[word], meant.hasPrefix("-") || isCommand(meant.prefix { $0 != " " })
        {
            return meant
        }
        return nearest(to: word, among: names)
    }

    /// What a word means that stands after the name of a command, where a database's could stand.
    ///
    /// - Returns: What to type instead; `nil` if it is no word of this tool or of another one.
    static func meaning(of word: String, after command: String, commands names: [String]) -> String?
    {
        let word = word.lowercased()
        if word == "help" { return "'\(command) --help' lists what it takes." }
        if names.contains(word) {
            return word == command
                ? "Give '\(command)' once." : "'\(word)' is a command of its own."
        }
        if let here = commands[word] {
            return here == command
                ? "'\(command)' alone does that: leave out '\(word)'." : "Did you mean '\(here)'?"
        }
        return places.contains(word) ? "'\(command) --help' lists what it takes." : nil
    }

    /// Names of the commands in other tools.
    private static let commands = [
        "up": "migrate", "apply": "migrate", "run": "migrate", "latest": "migrate",
        "head": "migrate", "goto": "migrate --to", "down": "rollback", "revert": "rollback",
        "undo": "rollback", "reset": "rollback", "back": "rollback", "new": "create",
        "add": "create", "make": "create", "generate": "create", "setup": "init",
        "info": "status", "ls": "status", "list": "status", "current": "status", "show": "status",
        "migrations": "status", "version": "--version", "config": "status --show-settings",
        "settings": "status --show-settings", "log": "history", "journal": "history",
        "pending": "plan", "preview": "plan", "dry-run": "migrate --dry-run",
        "simulate": "rehearse", "try": "rehearse", "validate": "verify", "check": "verify",
        "fsck": "verify", "integrity": "verify", "force": "baseline", "stamp": "baseline",
        "mark": "baseline", "fix": "repair", "resolve": "repair", "recover": "salvage",
        "rescue": "salvage", "dump": "schema-dump", "load": "schema-load", "schema": "schema-dump",
        "diff": "schema-diff", "compare": "schema-diff", "drift": "schema-diff", "copy": "backup",
        "clone": "backup", "save": "backup", "snapshot": "backup", "keygen": "key generate",
        "genkey": "key generate", "keys": "key list", "doctor": "key doctor",
        "diagnose": "key doctor", "export": "key export", "import": "key import",
        "rotate": "key rotate", "rotate-key": "key rotate", "key-rotate": "key rotate",
        "passwd": "rekey", "password": "rekey", "change-password": "rekey", "reencrypt": "rekey",
        "change-key": "rekey", "sql": "query", "select": "query", "exec": "query",
        "execute": "query", "eval": "query", "console": "shell", "repl": "shell", "open": "shell",
        "sqlcipher": "shell", "sqlite3": "shell", "psql": "shell", "stat": "inspect",
        "stats": "inspect", "describe": "inspect", "errors": "explain", "error": "explain",
        "why": "explain", "audit": "lint", "analyze": "lint", "analyse": "lint", "scan": "lint",
        "completion": "completions", "autocomplete": "completions",
    ]

    /// What stands before the name of a command elsewhere: what it works on.
    private static let objects: Set = [
        "db", "database", "schema", "migration", "migrations", "migrate", "store", "stores",
        "keychain",
        "secret",
    ]

    /// What both words mean together, where that isn't what the second one means.
    private static let phrases = [
        "db create": "migrate", "database create": "migrate", "db init": "init",
        "db console": "shell", "schema check": "verify", "schema export": "schema-dump",
        "schema import": "schema-load", "schema show": "schema-dump", "schema print": "schema-dump",
        "schema compare": "schema-diff", "db export": "backup", "db import": "restore",
        "db dump": "schema-dump", "db delete": "rollback --all", "migration delete": "rollback",
        "migration remove": "rollback", "migrations remove": "rollback",
        "stores list": "fleet status", "stores migrate": "fleet migrate",
        "keychain list": "key list", "keychain set": "key set", "keychain show": "key show",
        "secret list": "key list", "secret set": "key set", "secret show": "key show",
    ]

    /// Names of subcommands in other tools, of whatever group has the command.
    private static let subcommands = [
        "new": ["generate"], "create": ["generate"], "make": ["generate"], "gen": ["generate"],
        "add": ["set"], "put": ["set"], "store": ["set"], "save": ["set"],
        "rm": ["delete"], "remove": ["delete"], "del": ["delete"], "erase": ["delete"],
        "destroy": ["delete"], "clear": ["delete"], "ls": ["list", "status"],
        "list": ["status"], "get": ["show"], "print": ["show"], "cat": ["show"],
        "reveal": ["show"], "read": ["show"], "view": ["show"], "info": ["show", "status"],
        "describe": ["show"], "test": ["check", "verify"], "verify": ["check"],
        "check": ["verify"], "try": ["check"], "search": ["find"], "locate": ["find"],
        "lookup": ["find"], "change": ["rotate", "rekey"], "rekey": ["rotate"],
        "rotate": ["rekey"], "renew": ["rotate"], "passwd": ["rotate"], "backup": ["export"],
        "copy": ["export", "backup"], "dump": ["export"], "restore": ["import"],
        "load": ["import"], "diagnose": ["doctor"], "debug": ["doctor"], "status": ["doctor"],
        "up": ["migrate"], "apply": ["migrate"], "run": ["migrate"], "upgrade": ["migrate"],
        "down": ["rollback"], "undo": ["rollback"], "revert": ["rollback"], "save-all": ["backup"],
    ]

    /// What other tools call all migrations, or one of them by its place.
    private static let places: Set = [
        "all", "everything", "pending", "newest", "last", "next", "forward", "tip", "base", "zero",
        "first", "previous", "prev", "now",
    ]

    // MARK: - Options

    /// What was probably meant by an option that a command doesn't have.
    ///
    /// - Parameters:
    ///   - typed: The option, with its hyphens.
    ///   - options: Those that the command has, with theirs.
    /// - Returns: One of them, perhaps with a value; `nil` if nothing comes close.
    static func option(_ typed: String, among options: [String]) -> String? {
        let word = typed.drop { $0 == "-" }.lowercased()
        if typed == "-V" || typed == "-v" {
            // A command may take `-v` for more words some day.
            return options.contains("--version") && options.count <= 2 ? "--version" : nil
        }
        if !word.isEmpty, word.allSatisfy(\.isNumber) {
            return options.contains("--steps") ? "--steps \(word)" : nil
        }
        guard typed.hasPrefix("--") else { return nil }
        let words = word.replacing("_", with: "-")
        let has = { (name: String) in options.contains("--\(name)") ? "--\(name)" : nil }
        if let here = has(words) { return here }
        if let here = self.options[words]?.lazy.compactMap(has).first { return here }
        guard words.count > 1 else { return nil }
        // `--dry` and `--service`.
        let parts = options.filter { option in
            option.dropFirst(2).hasPrefix("\(words)-")
                || option.dropFirst(2).split(separator: "-").contains { $0 == words }
        }
        if let part = parts.min(by: { $0.count < $1.count }) { return part }
        return nearest(to: words, among: options.map { String($0.dropFirst(2)) }).map { "--\($0)" }
    }

    /// Names of options in other tools, each with ours, the likeliest first.
    private static let options: [String: [String]] = {
        let meanings: [(String, [String])] = [
            (
                "db url uri dsn database database-url database-path db-file sqlite connection",
                ["db-path"]
            ),
            (
                "dir directory folder path source migration migrations-dir migrations-path "
                    + "migrations-folder migration-dir migrations-directory",
                ["migrations", "db-path"]
            ),
            ("file", ["db-path"]), ("dry noop no-op simulate pretend preview", ["dry-run"]),
            ("service keyring keychain secret-service label", ["keychain-service"]),
            ("account user username login", ["keychain-account"]),
            (
                "key-file keyfile passfile pass-file password-path passphrase-file secret-file key "
                    + "passphrase pass pwd secret", ["password-file", "master-key-file"]
            ),
            ("new-key new-password new-passphrase new-key-file", ["new-password-file"]),
            (
                "key-command key-cmd password-cmd pass-command passphrase-command",
                ["password-command"]
            ),
            ("key-fd passphrase-fd", ["password-fd"]),
            ("raw hex hex-key raw-hex key-hex", ["raw-key"]),
            (
                "plaintext plain unencrypted no-password no-key no-encrypt without-encryption",
                ["no-encryption"]
            ),
            (
                "force assume-yes confirm no-confirm noconfirm accept "
                    + "skip-confirmation", ["yes"]
            ),
            ("non-interactive no-interactive batch no-input no-ask", ["no-prompt", "yes"]),
            ("target until up-to upto revision through to-version target-version", ["to"]),
            ("count number limit max num n max-steps", ["steps"]),
            ("dest destination out target-file output-file outfile o to", ["output"]),
            ("input in source-file backup-file", ["from", "file"]), ("sql-file script", ["file"]),
            ("single-transaction one-transaction atomic transaction", ["all-or-nothing"]),
            ("out-of-order outoforder ignore-order unordered", ["allow-out-of-order"]),
            ("silent no-output", ["quiet"]), ("format output-format as", ["json"]),
            ("timeout wait busy-timeout lock-wait", ["lock-timeout"]),
            ("config-file conf settings-file", ["config"]),
            ("settings show-config", ["show-settings"]),
            ("deep complete thorough all", ["full"]), ("everything", ["all", "full"]),
            ("kdf-iter iterations kdf_iter", ["kdf-iterations"]),
            ("compat compatibility", ["cipher-compatibility"]),
            ("page_size", ["page-size", "cipher-page-size"]),

            ("severity min-level fail-on", ["level"]),
            ("check fail-if-pending", ["exit-code"]), ("write-mode rw readwrite", ["write"]),
            ("store store-pattern glob dbs databases", ["stores", "db-path"]),
        ]
        return meanings.reduce(into: [:]) { options, meaning in
            for word in meaning.0.split(separator: " ") {
                options[String(word), default: []] += meaning.1
            }
        }
    }()

    // MARK: - Messages of the Parser

    /// The parser's message about an option, with what was probably meant. Its own guess goes by letters
    /// alone, and takes `--to` for `--db`.
    ///
    /// - Parameters:
    ///   - message: What it says.
    ///   - help: The command of which it says where its help is.
    /// - Returns: The message, unchanged if it is about something else.
    static func correct(_ message: String, _ help: String, in root: any ParsableCommand.Type)
        -> String
    {
        let prefix = "Unknown option '"
        guard message.hasPrefix(prefix) else { return message }
        let typed = String(message.dropFirst(prefix.count).prefix { $0 != "'" })
        var command = root
        for word in help.split(separator: " ") {
            let subcommands = command.configuration.subcommands
            guard
                let next = subcommands.first(where: { ($0.configuration.commandName ?? "") == word }
                )
            else {
                continue
            }
            command = next
        }
        let meant = option(typed, among: options(of: command))
        return "\(prefix)\(typed)'" + (meant.map { ". Did you mean '\($0)'?" } ?? "")
    }

    /// The names of a command's options, as its help lists them.
    private static func options(of command: any ParsableCommand.Type) -> [String] {
        command.helpMessage(columns: 1000).split(separator: "\n").flatMap { line -> [String] in
            guard line.hasPrefix("  -") else { return [] }
            let names = line.dropFirst(2).split(separator: "  ", maxSplits: 1).first ?? ""
            return names.split { " ,/".contains($0) }.filter { $0.hasPrefix("--") }.map(String.init)
        }.filter { $0 != "--help" }
    }
}
