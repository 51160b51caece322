import KeyStore

/// The attributes by which items are found and which stored ones carry. None of them is secret.
enum ItemAttributes {
    /// Says what the secret of an item that this library stored is: `passphrase` or `raw-key`.
    static let form = "migrationkit:form"

    /// What may be shown of an item's attributes, and looked at.
    ///
    /// KeePassXC hands out a whole entry as attributes: notes, the seed of one-time passwords and
    /// protected fields included. Its entries are recognized by the two attributes that it adds.
    /// Only the attributes by which programs find items stay, and those that distinguish entries.
    static func shown(_ attributes: [String: String]) -> [String: String] {
        guard entryMarks.isSubset(of: attributes.keys) else { return attributes }
        return attributes.filter { entryMarks.contains($0.key) || conventional.contains($0.key) }
    }

    private static let entryMarks: Set = ["Uuid", "Path"]
    private static let conventional: Set = [
        "service", "username", "account", "target", "application", "xdg:schema", form,
    ]

    /// The attributes of a new item: those that secret-tool's users, Python's and Go's keyring look
    /// for, the schema that they use, and the form.
    static func stored(
        service: String,
        account: String,
        form: DatabaseKey.Form
    ) -> [String: String] {
        [
            "service": service, "username": account, Self.form: form.rawValue,
            "xdg:schema": "org.freedesktop.Secret.Generic",
        ]
    }

    /// The searches that together find what is looked for.
    ///
    /// An account is called `username` by most and `account` by keytar's convention. Without a
    /// service, the items that this library stored are meant.
    static func searches(service: String?, account: String?) -> [[String: String]] {
        let bases: [[String: String]] =
            if let service {
                [["service": service]]
            } else {
                [
                    [form: DatabaseKey.Form.passphrase.rawValue],
                    [form: DatabaseKey.Form.rawKey.rawValue],
                ]
            }
        guard let account else { return bases }
        return bases.flatMap { base in
            ["username", "account"].map { base.merging([$0: account]) { $1 } }
        }
    }
}
