import TestSupport

extension OutputSnapshotTests {
    private static let item = "--keychain-service org.notes --keychain-account main"

    /// The `key` commands, on a secret store of the scene's own.
    static let keyScenes = [
        Scene("key-generate") { transcript in
            try transcript.run("key generate")
            try transcript.run("key generate \(item)")
            try transcript.run(
                "key generate --keychain-service org.notes "
                    + "--keychain-account second --json"
            )
            try transcript.run("key generate \(item)")
            try transcript.run("key generate \(item) --json")
        },
        Scene("key-set") { transcript in
            let key = transcript.tool.password
            try transcript.run("key set \(item)")
            try transcript.run("key set \(item) --password-file - --raw-key", input: key)
            try transcript.run("key set \(item) --password-file -", input: "another")
            try transcript.run("key set \(item) --password-file - --replace", input: "another")
            try transcript.run(
                "key set \(item) --password-file - --replace --yes",
                input: "another"
            )
            try transcript.run(
                "key set \(item) --password-file - --replace --yes --json",
                input: "the-third"
            )
        },
        Scene("key-show") { transcript in
            try transcript.run("key show \(item)")
            try transcript.run(
                "key set \(item) --password-file - --raw-key",
                input: transcript.tool.password
            )
            try transcript.run("key show \(item)")
            try transcript.run("key show \(item) --json")
            try transcript.run("key show \(item) --reveal")
            try transcript.run("key show \(item) --reveal --force")
            try transcript.run("key show \(item) --reveal --force --json")
        },
        Scene("key-list") { transcript in
            try transcript.run("key list")
            try transcript.run("key list --json")
            try transcript.run("key set \(item) --password-file -", input: "a passphrase")
            try transcript.run(
                "key generate --keychain-service org.archive "
                    + "--keychain-account main"
            )
            try transcript.run("key list --all")
            try transcript.run("key list --all --json")
            try transcript.run("key list --keychain-service org.notes")
        },
        Scene("key-check") { transcript in
            try transcript.writeNotes()
            try transcript.run(
                "key set \(item) --password-file - --raw-key",
                input: transcript.tool.password
            )
            try transcript.run(
                "key generate --keychain-service org.notes "
                    + "--keychain-account second"
            )
            try transcript.run("migrate --to 0001 \(item)")
            try transcript.run("key check \(item)")
            try transcript.run("key check \(item) --json")
            try transcript.run(
                "key check --keychain-service org.notes "
                    + "--keychain-account second"
            )
            try transcript.run(
                "key check --keychain-service org.notes "
                    + "--keychain-account second --json"
            )
            try transcript.run("status --keychain-service org.notes --json")
        },
        Scene("key-doctor") { transcript in
            try transcript.writeNotes()
            try transcript.run("key doctor")
            try transcript.run("key doctor --db-path notes.db \(item)")
            try transcript.run("key generate \(item)")
            try transcript.run("key doctor \(item)")
            try transcript.run("migrate --to 0001 \(item)")
            try transcript.run("key doctor --db-path notes.db \(item)")
            try transcript.run("key doctor --db-path notes.db --json \(item)")
            try transcript.run("key delete --yes \(item)")
            try transcript.run("key doctor --db-path notes.db \(item)")
            try transcript.run("key generate --new \(item)")
            try transcript.run("key doctor --db-path notes.db \(item)")
            try transcript.run("key doctor --db-path notes.db --json \(item)")
        },
        Scene("key-find") { transcript in
            try transcript.writeNotes()
            try transcript.run("key find")
            try transcript.run("key find --db-path notes.db")
            try transcript.run("key generate \(item)")
            try transcript.run("migrate --to 0001 \(item)")
            try transcript.run("backup --output old.db \(item)")
            try transcript.run("key rotate \(item)")
            try transcript.run("key find")
            try transcript.run("key find --json")
            try transcript.run("key find --db-path old.db")
            try transcript.run("key find --db-path old.db --json")
            try transcript.run("key find --keychain-service org.other")
            try transcript.run("key find --keychain-service org.other --json")
            try transcript.run("restore --from old.db --yes \(item)")
            try transcript.run("restore --from old.db --yes --former-key rekey --json \(item)")
        },
        Scene("key-export") { transcript in
            let passphrase = "--recovery-password-file -"
            try transcript.run("key export --output notes.p12")
            try transcript.run("key export \(item)")
            try transcript.run(
                "key set \(item) --password-file - --raw-key",
                input: transcript.tool.password
            )
            try transcript.run("key export --output notes.p12 \(item)")
            try transcript.run(
                "key export --output notes.p12 \(passphrase) \(item)",
                input: "words"
            )
            try transcript.run(
                "key export --output notes.p12 \(passphrase) \(item)",
                input: "words"
            )
            try transcript.writeNotes()
            try transcript.run("migrate --to 0001 \(item)")
            try transcript.run(
                "key export --output two.p12 --json \(passphrase) \(item)",
                input: "words"
            )
            try transcript.run("key import notes.p12 \(passphrase) \(item)", input: "others")
            try transcript.run("key import notes.p12 \(passphrase) \(item)", input: "words")
            try transcript.run(
                "key import notes.p12 --json \(passphrase) --keychain-service org.notes "
                    + "--keychain-account second",
                input: "words"
            )
            try transcript.run("key import notes.p12 --output key \(passphrase)", input: "words")
            try transcript.run(
                "key import notes.p12 --output other --json \(passphrase)",
                input: "words"
            )
            try transcript.run("key find --key-file key --json")
            let spelled = "0x\(transcript.tool.password)"
            try transcript.tool.folder.write("spelled", spelled.utf8)
            try transcript.run("key find --key-file spelled --json")
            try transcript.run("key import spelled --output again --json")
            try transcript.run("key import - --output again", input: "another key")
        },
        Scene("key-rotate") { transcript in
            try transcript.writeNotes()
            try transcript.run("key rotate")
            try transcript.run("key rotate \(item)")
            try transcript.run("key generate \(item)")
            try transcript.run("migrate --to 0001 \(item)")
            try transcript.run("key rotate \(item)")
            try transcript.run("key rotate \(item) --discard-old-key")
            try transcript.run("key rotate \(item) --keep-original old.db")
            try transcript.run("key rotate \(item) --keep-original older.db --json")
            try transcript.run("key rotate \(item) --keep-original older.db --json")
            try transcript.run("status \(item)")
            try transcript.run(
                "key set --keychain-service org.notes --keychain-account second --password-file -",
                input: "another"
            )
            try transcript.run("key rotate --keychain-service org.notes")
            try transcript.run(
                "key rotate --keychain-service org.notes --keychain-account second --json"
            )
        },
        Scene("key-delete") { transcript in
            try transcript.run("key generate \(item)")
            try transcript.run(
                "key generate --keychain-service org.notes "
                    + "--keychain-account second"
            )
            try transcript.run("key delete --keychain-service org.notes --yes")
            try transcript.run("key delete \(item)")
            try transcript.run("key delete \(item) --yes")
            try transcript.run("key delete --keychain-service org.notes --yes --json")
            try transcript.run("key delete \(item) --yes --json")
        },
    ]
}
