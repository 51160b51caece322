import Foundation
import TestSupport
import Testing

/// The completions, in the shells that they are for.
@Suite struct CompletionTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        // What the tool itself is given shows what was completed.
        try folder.makeFolder("bin")
        try folder.write("bin/migrationkit-cli", "#!/bin/sh\necho \"got:$*:\"\n".utf8, mode: 0o700)
        try folder.makeFolder("here")
        try folder.makeFolder("here/steps")
        try folder.write("here/stored.db", [])
    }

    private func writeScript(_ shell: String, to name: String) throws -> String {
        let result = try Tool().run("completions", shell)
        #expect(result.status == 0)
        #expect(result.stderr.isEmpty)
        return try folder.write(name, result.outputBytes)
    }

    private var environment: [String: String] {
        [
            "PATH": folder.path("bin") + ":/usr/bin:/bin", "HOME": folder.path, "TERM": "dumb",
            "LC_ALL": "C.UTF-8", "XDG_CONFIG_HOME": folder.path, "XDG_DATA_HOME": folder.path,
        ]
    }

    /// What is typed, with a tab behind it, and what the shell makes of it. What begins with
    /// `here/st` is a folder and a file.
    static let typed = [
        ("mig", "migrate"),
        ("schema-du", "schema-dump"),
        ("key gen", "key generate"),
        ("migrate --all-or", "migrate --all-or-nothing"),
        ("completions f", "completions fish"),
        ("schema-dump --format mer", "schema-dump --format mermaid"),
        ("migrate --db-path here/sto", "migrate --db-path here/stored.db"),
        ("migrate --migrations here/st", "migrate --migrations here/steps"),
    ]

    /// Types at an interactive shell on a terminal of its own.
    private func complete(_ shell: TerminalProcess, preparing lines: [String]) throws {
        for line in lines + ["cd '\(folder.path)'", "echo re''ady"] {
            shell.type("\(line)\n".utf8)
        }
        #expect(shell.wait(for: "ready"), "\(shell.text)")
        for (beginning, completed) in Self.typed {
            shell.type("migrationkit-cli \(beginning)\t\n".utf8)
            // A slash behind a folder is the shell's.
            #expect(shell.wait(for: "got:\(completed)"), "\(beginning): \(shell.text)")
        }
        shell.type("exit\n".utf8)
        _ = shell.finish()
        #expect(!shell.text.contains("not found"), "\(shell.text)")
        #expect(!shell.text.contains("rror"), "\(shell.text)")
    }

    @Test func bashCompletes() throws {
        let script = try writeScript("bash", to: "completions.bash")
        let shell = try TerminalProcess(
            "bash",
            ["--norc", "--noprofile", "-i"],
            environment: environment
        )
        try complete(shell, preparing: ["source '\(script)'"])
    }

    @Test func zshCompletes() throws {
        try folder.makeFolder("functions")
        _ = try writeScript("zsh", to: "functions/_migrationkit-cli")
        let shell = try TerminalProcess("zsh", ["-f", "-i"], environment: environment)
        try complete(
            shell,
            preparing: [
                "fpath=('\(folder.path("functions"))' $fpath)",
                "autoload -Uz compinit", "compinit -u -D", "unsetopt list_beep",
            ]
        )
    }

    @Test func fishCompletes() throws {
        let script = try writeScript("fish", to: "completions.fish")
        for (beginning, completed) in Self.typed {
            let result = try run(
                "fish",
                [
                    "--no-config", "-c",
                    """
                    cd '\(folder.path)'; source '\(script)'
                    complete -C 'migrationkit-cli \(beginning)'
                    """,
                ],
                environment: environment
            )
            #expect(result.status == 0)
            #expect(result.stderr.isEmpty, "\(result)")
            let word = completed.split(separator: " ").last ?? ""
            let candidates = result.stdout.split(separator: "\n").map {
                $0.split(separator: "\t").first.map(String.init) ?? ""
            }
            #expect(
                candidates.contains(String(word)) || candidates.contains("\(word)/"),
                "\(beginning): \(result)"
            )
        }
    }
}
