import KeyStore

/// The attributes for finding and storing items. None of them is secret.
enum ItemAttributes {
    /// The form of the secret, if this library stored the item: `passphrase` or `raw-key`.
    static let form = "migrationkit:form"

    /// The attributes of an item that may be shown and inspected.
    ///
    /// KeePassXC exposes a whole entry as attributes, including notes, one-time password seeds and
    /// protected fields. Its entries are recognized by the two attributes that it adds. Only the
    /// attributes by which programs find items are kept, and those that distinguish entries.
    static func shown(_ attributes: [String: String]) -> [String: String] {
        guard entryMarks.isSubset(of: attributes.keys) else { return attributes }
        return attributes.filter { entryMarks.contains($0.key) || conventional.contains($0.key) }
    }

    private static let entryMarks: Set = ["Uuid", "Path"]
    private static let conventional: Set = [
        "service", "username", "account", "target", "application", "xdg:schema", form,
    ]

    /// The attributes of a new item: those that secret-tool and the keyrings of Python and Go
    /// search for, the schema that they use, and the form.
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

    /// The searches that together find the matching items.
    ///
    /// Most programs call the account `username`; keytar calls it `account`. Without a service,
    /// this searches for the items that this library stored.
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
