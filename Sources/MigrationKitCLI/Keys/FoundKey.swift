import MigrationKitKeys
import MigrationKitSQLCipher

/// A place of a key that opens a database, and how to use it.
struct FoundKey {
    let place: KeyCandidate.Place
    /// How the key is written there; `nil` if as this tool does.
    let notation: String?
    /// The options that name the key for the other commands, and the file's settings; empty if none do: then
    /// 'key import' stores it.
    let options: [String]
    /// What the item is for, unless it is an ordinary one.
    let role: Role?
    private let path: String
    private let settings: [String]
    private let cipher: CipherSettings

    enum Role {
        /// The key from before a rotation.
        case previous(FormerKey)
        /// The key of an interrupted rotation of an item.
        case pending(service: String, account: String)

        var name: String {
            switch self {
            case .previous: "previous"
            case .pending: "pending"
            }
        }
    }

    init(
        _ candidate: KeyCandidate,
        _ reading: KeyReading,
        _ cipher: CipherSettings,
        path: String,
        among candidates: [KeyCandidate]
    ) {
        place = candidate.place
        notation = reading.notation
        self.path = path
        settings = cipher.options
        self.cipher = cipher
        let isRaw = reading.key.form == .rawKey
        switch candidate.place {
        case _ where reading.notation != nil:
            (role, options) = (nil, [])
        case .file(let path):
            role = nil
            options =
                ["--password-file", path] + (isRaw ? ["--raw-key"] : [])
                + settings
        case .item(let item):
            let role = Role(item)
            self.role = role
            if case .pending(let service, let account) = role {
                options = ["--keychain-service", service, "--keychain-account", account] + settings
            } else {
                let needsForm = item.form == nil && isRaw
                let named = item.options(among: candidates)
                options = named.isEmpty ? [] : named + (needsForm ? ["--raw-key"] : []) + settings
            }
        }
    }

    /// The place and the options for programs.
    var document: JSONFields {
        var (item, file): (KeyItem?, String?)
        switch place {
        case .item(let found): item = found
        case .file(let path): file = path
        }
        return [
            "item": item, "file": file, "role": role?.name, "notation": notation,
            "options": options,
        ]
    }

    /// The command that keeps the key in this tool's own notation.
    private var importing: String {
        var file: [String] = []
        if case .file(let path) = place { file = [path] }
        let words = [Program.name, "key", "import"] + file + ["--db-path", path] + settings
        return (words + ["--output", "FILE"]).shellCommand
    }

    /// Why the other commands can't open the file, and what to do, a line each; empty if they can.
    private var obstacle: [String] {
        let reason: String
        switch cipher.obstacle {
        case .otherCipher:
            return [
                "  No command reads the file: it has \(cipher).", "  'key check' says what does.",
            ]
        case .mask, .smallPages: reason = "It has \(cipher)."
        case nil where cipher.isOfMultipleCiphers:
            reason = "The file is one of SQLite3 Multiple Ciphers."
        case nil: return []
        }
        let words = [Program.name, "salvage", path] + options + ["--output", "FILE"]
        return ["  \(reason) Only this reads it:", "    \(words.shellCommand)"]
    }

    /// The place and the options for people.
    func text() -> String {
        var lines: [String] = []
        switch place {
        case .file(let path): lines.append("  the file \"\(path)\"")
        case .item(let item): lines.append("  \"\(item.label)\" in \(item.collection)")
        }
        if options.isEmpty {
            let reason = notation.map { "It is written as \($0)" } ?? "No option names it alone"
            lines += ["  \(reason). To store it for the other commands:", "    \(importing)"]
        } else {
            lines.append("    \(options.shellCommand)")
        }
        lines += obstacle
        switch role {
        case .previous(let key):
            let remedy = FormerKeyError.Remedy.rekey(path, from: key)
            lines += [
                "  It is a former key. To give the file the current key:",
                "    \(([Program.name] + remedy.words + settings).shellCommand)",
            ]
        case .pending:
            lines.append(
                "  A rotation was interrupted. With these options, the next command finishes it."
            )
        case nil: break
        }
        return lines.map(\.printable).joined(separator: "\n")
    }
}

extension FoundKey.Role {
    fileprivate init?(_ item: KeyItem) {
        if let account = item.account, let key = FormerKey(service: item.service, name: account) {
            self = .previous(key)
        } else if let service = PendingKey.originalService(of: item.service),
            let key = PendingKey(item)
        {
            self = .pending(service: service, account: key.account)
        } else {
            return nil
        }
    }
}

extension KeyItem {
    /// The options that name the item, and no other one of the candidates; empty if none do.
    fileprivate func options(among candidates: [KeyCandidate]) -> [String] {
        let items = candidates.compactMap { candidate -> KeyItem? in
            if case .item(let item) = candidate.place { item } else { nil }
        }
        guard !service.isEmpty else {
            // Our search goes by the service. Another program's finds every item that has attributes.
            let alikeCount = items.count { other in
                attributes.allSatisfy { other.attributes[$0.key] == $0.value }
            }
            guard !attributes.isEmpty, alikeCount == 1 else { return [] }
            let words = attributes.sorted { $0.key < $1.key }.flatMap { [$0.key, $0.value] }
            return ["--password-command", (["secret-tool", "lookup"] + words).shellCommand]
        }
        let alike = items.filter { $0.service == service && $0.account == account }
        let others = alike.filter { $0.collection != collection }
        guard alike.count == others.count + 1 else { return [] }
        return ["--keychain-service", service]
            + (account.map { ["--keychain-account", $0] } ?? [])
            + (others.isEmpty ? [] : ["--keychain-collection", collection])
    }
}

extension CipherSettings {
    /// The options that name these settings; none for the current ones.
    var options: [String] {
        guard !isOfMultipleCiphers else { return [] }
        guard !isOnlySearched else { return ["--find-settings"] }
        var options: [String] = []
        if with(plaintextHeaderSize: 0, salt: nil) != .current {
            options += ["--cipher-compatibility", "\(compatibility)"]
        }
        guard !isVersion else { return options }
        let defaults = Self.versions.first { $0.compatibility == compatibility }
        if pageSize != defaults?.pageSize { options += ["--cipher-page-size", "\(pageSize)"] }
        if kdfIterations != defaults?.kdfIterations {
            options += ["--kdf-iterations", "\(kdfIterations)"]
        }
        if kdfAlgorithm != defaults?.kdfAlgorithm {
            options += ["--kdf-algorithm", kdfAlgorithm.rawValue]
        }
        if hmacAlgorithm != defaults?.hmacAlgorithm {
            options += ["--hmac-algorithm", hmacAlgorithm.rawValue]
        }
        if hasPlaintextHeader {
            options += ["--cipher-plaintext-header-size", "\(plaintextHeaderSize)"]
        }
        if let salt { options += ["--cipher-salt", salt.hexadecimalDigits] }
        return options
    }

    /// How these settings are given to the other commands, for people; `nil` for the current ones.
    var advice: String? {
        guard !options.isEmpty else { return nil }
        let need = """
            The other commands need
              \(options.joined(separator: " "))
            'upgrade' converts the file.
            """
        guard !isOnlySearched else { return need }
        let lines = stride(from: 0, to: options.count, by: 2).map { index in
            let value = Int(options[index + 1]).map(String.init) ?? "\"\(options[index + 1])\""
            return "  \(options[index].dropFirst(2)) = \(value)"
        }
        return "\(need) In \(SettingsFile.defaultName):\n\(lines.joined(separator: "\n"))"
    }
}
