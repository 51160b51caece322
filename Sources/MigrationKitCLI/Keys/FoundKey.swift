import MigrationKitKeys
import MigrationKitSQLCipher

/// A place of a key that opens a database, and how to use it.
struct FoundKey {
    let place: KeyCandidate.Place
    /// The options that name the key for the other commands, and the file's settings.
    let options: [String]
    /// What the item is for, unless it is an ordinary one.
    let role: Role?
    private let path: String
    private let settings: [String]

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
        _ match: KeySearch.Match,
        path: String,
        among candidates: [KeyCandidate]
    ) {
        place = candidate.place
        self.path = path
        settings = match.cipher.options
        switch candidate.place {
        case .file(let path):
            role = nil
            options =
                ["--password-file", path] + (match.key.form == .rawKey ? ["--raw-key"] : [])
                + settings
        case .item(let item):
            let role = Role(item)
            self.role = role
            if case .pending(let service, let account) = role {
                options = ["--keychain-service", service, "--keychain-account", account] + settings
            } else {
                let needsForm = item.form == nil && match.key.form == .rawKey
                options =
                    item.options(among: candidates) + (needsForm ? ["--raw-key"] : []) + settings
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
        return ["item": item, "file": file, "role": role?.name, "options": options]
    }

    /// The place and the options for people.
    func text() -> String {
        var lines: [String] = []
        switch place {
        case .file(let path): lines.append("  the file \"\(path)\"")
        case .item(let item): lines.append("  \"\(item.label)\" in \(item.collection)")
        }
        lines.append("    \(options.shellCommand)")
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
    /// The options that name the item, and no other one of the candidates.
    fileprivate func options(among candidates: [KeyCandidate]) -> [String] {
        guard !service.isEmpty else {
            // Our search goes by the service. Another program's finds every item.
            let attributes = attributes.sorted { $0.key < $1.key }.flatMap { [$0.key, $0.value] }
            return ["--password-command", (["secret-tool", "lookup"] + attributes).shellCommand]
        }
        let others = candidates.filter { candidate in
            guard case .item(let item) = candidate.place else { return false }
            return item.service == service && item.account == account
                && item.collection != collection
        }
        return ["--keychain-service", service]
            + (account.map { ["--keychain-account", $0] } ?? [])
            + (others.isEmpty ? [] : ["--keychain-collection", collection])
    }
}

extension CipherSettings {
    /// The options that name these settings; none for the current ones.
    var options: [String] {
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
}
