import MigrationKit
import TestSupport
import Testing

/// What SQLite's shell reads in the scripts that commands print.
struct ShellScriptTests {
    /// Gives texts to the shell, each followed by a command of ours.
    private func shellsOutput(of texts: [String]) throws -> [Substring] {
        try OtherProgram.require("the sqlcipher shell")
        let scripts = texts.enumerated().map { "\($1)\n.print after \($0)\n" }
        // The shell's exit code is that of its last statement.
        return try TestSupport.run("sqlcipher", [":memory:"], input: scripts.joined().utf8)
            .stdout.split(separator: "\n")
    }

    @Test func noPartOfAStatementIsACommand() throws {
        let fragments = [
            "go", "/", "Go ", " /", "\n", "\n", "\n", "\n.print RAN\n", "\n#x\n", ";", ";\n", "(",
            ")", "'",
            "\"", "`", "[", "]", "--", "/*", "*/", "$a(')", "$a(", "x", " ", "CREATE TRIGGER t ",
            " BEGIN ", " END;", "CASE", "EXPLAIN ", "\r\n", "é",
        ]
        var generator = SeededGenerator(seed: 0x5EED)
        let texts = (0..<20_000).map { _ in
            let start =
                ["CREATE VIEW v AS SELECT ", "CREATE VIRTUAL TABLE t USING fts4(a, ", ""]
                .randomElement(using: &generator) ?? ""
            let rest = (0..<Int.random(in: 1...12, using: &generator))
                .compactMap { _ in fragments.randomElement(using: &generator) }
            return start + rest.joined()
        }
        func ran(_ output: [Substring]) -> Int { output.count { $0.contains("RAN") } }
        let output = try shellsOutput(of: texts.map(\.terminated.forShell))
        #expect(ran(output) == 0)
        // Each text has ended where it should.
        let ends = Set(output)
        let open = texts.enumerated().filter { !ends.contains("after \($0.offset)") }
        #expect(open.count == 0, "\(open.prefix(2))")
        let unchanged = ran(try shellsOutput(of: texts.map { "\($0);" }))
        #expect(unchanged > 10)
    }

    @Test func whatTheShellReadsStaysAsItIs() {
        let texts = [
            "CREATE TABLE t (\n    a, -- a / b\n    b CHECK (b /\n    2 > 1)\n);",
            "CREATE VIEW v AS SELECT 'go\ngo\n' /* go\n/\n*/;",
            "CREATE TRIGGER r AFTER INSERT ON t BEGIN\n  DELETE FROM t;\n  SELECT 1;\nEND;",
        ]
        for text in texts { #expect(text.forShell == text) }
    }

    @Test func aStatementWithALineForTheShellGetsOneLine() {
        #expect(
            "CREATE VIEW v AS SELECT -- x\ngo\n.shell x\nFROM 'a\nb' AS go".terminated.forShell
                == "CREATE VIEW v AS SELECT  go .shell x FROM 'a\nb' AS go;"
        )
        #expect("CREATE VIEW v AS SELECT 1 /* a".terminated == "CREATE VIEW v AS SELECT 1 /* a */;")
        #expect("CREATE VIEW v AS SELECT 1 -- a".terminated == "CREATE VIEW v AS SELECT 1 -- a\n;")
        #expect("CREATE VIEW v AS SELECT '--'".terminated == "CREATE VIEW v AS SELECT '--';")
    }
}
