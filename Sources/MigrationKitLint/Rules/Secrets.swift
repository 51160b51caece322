import MigrationKitGRDB

/// The rules of the group "Security". A message never contains a literal.
enum Secrets {
    static func check(_ step: StepRecord, _ findings: inout FindingList) {
        for statement in step.statements {
            secret(in: statement, &findings)
            if statement.callsLoadExtension {
                findings.add(
                    .loadExtension,
                    at: statement,
                    "the migration loads code into the program, which SQLite refuses unless the "
                        + "program allows it",
                    fix: "Link the extension into the app, and register it when the database is "
                        + "opened."
                )
            }
            temporaryObject(in: statement, &findings)
        }
    }

    // MARK: - Secrets

    private static func secret(in statement: StatementRecord, _ findings: inout FindingList) {
        let kind: String
        var level: LintLevel?
        if case .pragma(let name, value: _?) = statement.kind,
            ["key", "rekey", "hexkey", "hexrekey", "textkey", "textrekey"].contains(name)
        {
            kind = "PRAGMA \(name) gives the database's key"
        } else if let form = statement.parsed.words.lazy.compactMap(\.secretForm).first {
            kind = "a text has the form of \(form)"
        } else if let column = statement.columnWithSecret {
            kind = "column '\(column)' gets a literal"
            level = .warning
        } else {
            return
        }
        findings.add(
            .secretInMigration,
            level: level,
            at: statement,
            "\(kind), and everyone who has the migrations can read it",
            fix: "Let the app write the secret. If it is a real one, change it: it stays in the "
                + "repository's history."
        )
    }

    // MARK: - Temporary Objects

    private static func temporaryObject(
        in statement: StatementRecord,
        _ findings: inout FindingList
    ) {
        switch statement.kind {
        case .pragma("temp_store", value: _?), .pragma("temp_store_directory", value: _?):
            findings.add(
                .temporaryObject,
                at: statement,
                "the migration changes where temporary data goes, so rows of an encrypted database "
                    + "may get into an unencrypted file",
                fix: "Remove it."
            )
        case .createTemporary(let name):
            temporary(name, statement, &findings)
        default:
            guard
                let action = statement.actions.first(where: {
                    $0.kind == .create && $0.database == "temp" && $0.cause == nil
                })
            else { return }
            temporary(action.name, statement, &findings)
        }
    }

    private static func temporary(
        _ name: String,
        _ statement: StatementRecord,
        _ findings: inout FindingList
    ) {
        findings.add(
            .temporaryObject,
            at: statement,
            "'\(name)' is temporary: it ends with the migration, and a program may keep its rows "
                + "in an unencrypted file",
            fix: "Use an ordinary table and drop it in the same migration, or use WITH."
        )
    }
}

extension StatementRecord {
    var callsLoadExtension: Bool {
        actions.contains {
            $0.kind == .function
                && ($0.detail ?? $0.name).isSameName(as: "load_extension")
        }
    }

    /// The column named like a secret to which it gives a literal.
    fileprivate var columnWithSecret: String? {
        switch kind {
        case .insert(let name, _):
            let columns =
                parsed.insertedColumns ?? before.table(name)?.columns.map(\.name) ?? []
            guard let values = parsed.words.firstIndex(where: { $0.keyword == "VALUES" }),
                columns.contains(where: \.isNameOfSecret)
            else { return nil }
            var place = 0
            var previous = ""
            for (word, next) in zip(parsed.words[values...], parsed.words[(values + 1)...]) {
                let depth = word.depth
                switch word.text {
                case "(" where depth == 0: place = 0
                case "," where depth == 1: place += 1
                default: break
                }
                if next.depth == 1, ["(", ","].contains(word.text), columns.indices.contains(place)
                {
                    previous = columns[place]
                    if previous.isNameOfSecret, next.mayBeSecret { return previous }
                }
            }
            return nil
        case .update:
            let words = parsed.words
            for number in words.indices.dropFirst(2)
            where words[number - 1].text == "=" && words[number].mayBeSecret {
                let column = words[number - 2].unquoted
                let opener = number > 2 ? words[number - 3] : nil
                guard opener?.keyword == "SET" || opener?.text == ",", column.isNameOfSecret
                else { continue }
                return column
            }
            return nil
        default:
            return nil
        }
    }
}

extension String {
    /// Whether a column of this name holds secrets, and not a hash or a hint of one.
    fileprivate var isNameOfSecret: Bool {
        let endings = [
            "password", "passwd", "passphrase", "secret", "api_key", "apikey", "access_token",
            "auth_token", "refresh_token", "private_key",
        ]
        let name = lowercased()
        return endings.contains { name == $0 || name.hasSuffix("_" + $0) }
    }
}

extension SQLTokens.Token {
    /// What is between the quotes of a string; `nil` if it is none.
    private var string: Substring? {
        guard text.hasPrefix("'"), text.count > 2 else { return nil }
        return text.dropFirst().dropLast()
    }

    /// Whether it is a text that could be a secret: not an empty one, a hash, JSON or a number.
    fileprivate var mayBeSecret: Bool {
        guard let string, string.utf8.count >= 4 else { return false }
        let isHash = ["$2", "$argon", "$pbkdf2", "$scrypt", "pbkdf2", "sha"].contains {
            string.hasPrefix($0)
        }
        let isHexadecimal = string.utf8.count >= 32 && string.allSatisfy(\.isHexDigit)
        return !isHash && !isHexadecimal && string.first != "{" && string.first != "["
            && !string.allSatisfy(\.isNumber)
    }

    /// The kind of secret that has this form; `nil` if none has.
    fileprivate var secretForm: String? {
        guard let string, !string.contains("EXAMPLE") else { return nil }
        if string.hasAddressWithPassword { return "an address with a password" }
        let count = string.utf8.count
        guard count >= 16 else { return nil }
        func rest(after prefix: String, isAtLeast length: Int) -> Bool {
            string.hasPrefix(prefix) && count >= prefix.utf8.count + length
                && string.utf8.dropFirst(prefix.utf8.count).allSatisfy(\.isTokenCharacter)
                && string.contains(where: \.isNumber)
        }
        switch string.prefix(2) {
        case "gh"
        where ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"].contains { rest(after: $0, isAtLeast: 36) },
            "gi" where rest(after: "github_pat_", isAtLeast: 40):
            return "a GitHub token"
        case "gl" where rest(after: "glpat-", isAtLeast: 20):
            return "a GitLab token"
        case "AK" where rest(after: "AKIA", isAtLeast: 16) && count == 20,
            "AS" where rest(after: "ASIA", isAtLeast: 16) && count == 20:
            return "an AWS key"
        case "sk" where rest(after: "sk_live_", isAtLeast: 16),
            "rk" where rest(after: "rk_live_", isAtLeast: 16):
            return "a Stripe key"
        case "sk" where ["sk-ant-", "sk-proj-"].contains { rest(after: $0, isAtLeast: 40) }:
            return "an API key"
        case "xo"
        where ["xoxb-", "xoxp-", "xoxa-", "xoxs-"].contains { rest(after: $0, isAtLeast: 20) }:
            return "a Slack token"
        case "AI" where rest(after: "AIza", isAtLeast: 35) && count == 39:
            return "a Google key"
        case "--"
        where string.hasPrefix("-----BEGIN") && string.prefix(60).contains("PRIVATE KEY-----"):
            return "a private key"
        default:
            return nil
        }
    }
}

extension Substring {
    /// Whether there is a `scheme://user:password@host` in it. A placeholder such as `{password}`
    /// or `<password>` is no password.
    fileprivate var hasAddressWithPassword: Bool {
        // Most texts have no address, and there may be thousands.
        guard contains("://") else { return false }
        let address = /\w:\/\/[^\s\/:@?#"'<>]*:[^\s\/@"'<>\{\$\*][^\s\/@"'<>]*@[^\s\/@]/
        return firstMatch(of: address) != nil
    }
}

extension UInt8 {
    fileprivate var isTokenCharacter: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
