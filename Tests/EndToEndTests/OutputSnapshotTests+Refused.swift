import TestSupport

extension OutputSnapshotTests {
    /// What goes wrong before anything is done.
    static let refusedScenes = [
        Scene("wrong-key") { transcript in
            try transcript.writeNotes()
            try transcript.run("migrate --to 0001")
            try transcript.tool.folder.write("other", ToolFolder.randomDigits(count: 64).utf8)
            try transcript.run("status --password-file other")
            try transcript.run("status --password-file other --json")
            try transcript.run("status --password-file nowhere")
            try transcript.run("status --password-file other --password-fd 3")
            try transcript.run("status --no-encryption --json")
        },
        Scene("wrong-words") { transcript in
            try transcript.run("migrat")
            try transcript.run("status --exit-cod")
            try transcript.run("status --exit-cod --json")
            try transcript.run("migrate --to 0001 --steps 1")
            try transcript.run("verify --require-index notes_title")
            try transcript.run("repair")
            try transcript.run("baseline")
            try transcript.run("key")
            try transcript.run("key lst")
            try transcript.run("status --migrations nowhere")
            try transcript.run("status --config nowhere.toml --json")
        },
    ]
}
