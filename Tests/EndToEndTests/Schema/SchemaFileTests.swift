import Foundation
import TestSupport
import Testing

/// What `schema-dump` writes to and compares with, and `schema-load` reads: not all of it is a
/// regular file.
@Suite struct SchemaFileTests {
    let tool: Tool

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.writeItems()
    }

    private func dump(_ arguments: String...) throws -> ProcessResult {
        try tool.run(["schema-dump", "--migrations", tool.migrations] + arguments)
    }

    private func link(_ name: String, to destination: String) throws {
        try FileManager.default.createSymbolicLink(
            atPath: tool.folder.path(name),
            withDestinationPath: destination
        )
    }

    /// Runs the tool with what a shell makes of its words.
    private func shell(_ words: String, _ arguments: [String], input: String = "") throws
        -> ProcessResult
    {
        try TestSupport.run(
            "/bin/bash",
            ["-c", words, "bash", builtExecutable("migrationkit-cli")] + arguments,
            environment: tool.environment,
            input: input.utf8,
            newSession: true
        )
    }

    // MARK: Writing

    @Test func aPipeIsWrittenInto() throws {
        let text = try dump().stdout
        let pipe = tool.folder.path("pipe")
        try #require(mkfifo(pipe, 0o600) == 0)
        try link("link", to: "pipe")
        for path in [pipe, tool.folder.path("link")] {
            let result = try shell(
                "timeout 60 \"$@\" --output \(path) >/dev/null & timeout 60 cat \(path); wait $!",
                ["schema-dump", "--migrations", tool.migrations]
            )
            #expect(result.status == 0, "\(result)")
            #expect(result.stdout == text)
        }
        var status = stat()
        #expect(lstat(pipe, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
    }

    /// The link is what `/dev/stdout` is, which a broken tool would replace for the whole machine.
    @Test(arguments: ["link", "/dev/fd/1", "/proc/self/fd/1"])
    func anOpenDescriptorIsWrittenInto(_ name: String) throws {
        try link("link", to: "/proc/self/fd/1")
        let path = name == "link" ? tool.folder.path(name) : name
        let text = try dump().stdout
        let written = text + "Wrote the schema to \(path)\n"
        #expect(try dump("--output", path).stdout == written)

        // What is in the file already stays, as after '>>'.
        let file = try tool.folder.write("all.txt", "before\n".utf8)
        let result = try shell(
            "\"$@\" >>\(file)",
            ["schema-dump", "--migrations", tool.migrations, "--output", path]
        )
        #expect(result.status == 0, "\(result)")
        #expect(try tool.folder.data("all.txt") == Data(("before\n" + written).utf8))
    }

    @Test func aFullDeviceAndAFolderAreRefused() throws {
        let full = try shell(
            "\"$@\" >/dev/full",
            ["schema-dump", "--migrations", tool.migrations, "--output", "/dev/fd/1"]
        )
        #expect(full.status == 73, "\(full)")
        #expect(full.stderr.hasPrefix("error: /dev/fd/1 can't be written: no space left on device"))

        let folder = try dump("--output", tool.migrations)
        #expect(folder.status == 73, "\(folder)")
        #expect(folder.stderr.contains("can't be written: is a directory"))
    }

    // MARK: Reading

    @Test func aDumpComesThroughAPipe() throws {
        #expect(try dump("--output", tool.folder.path("schema.sql")).status == 0)
        let options = tool.opening + ["--migrations", tool.migrations]
        let substituted = try shell(
            "\"$1\" schema-load <(cat \(tool.folder.path("schema.sql"))) \"${@:2}\"",
            options
        )
        #expect(substituted.status == 0, "\(substituted)")
        #expect(try tool.onStore("verify").status == 0)
        unlink(tool.database)

        let text = try dump().stdout
        let piped = try tool.run(["schema-load", "-"] + options, input: text)
        #expect(piped.status == 0, "\(piped)")
        #expect(
            piped.stdout.hasPrefix(
                "Created \(tool.database).\nLoaded standard input, and verified the result.\n"
            )
        )
        #expect(try tool.onStore("verify").status == 0)
    }

    // MARK: What a killed process leaves

    @Test func theNextOneRemovesWhatAKilledOneLeft() throws {
        let dump = tool.folder.path("schema.sql")
        #expect(try self.dump("--output", dump).status == 0)
        let endless = """
            CREATE TABLE slow (x);
            INSERT INTO slow WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)
            SELECT count(*) FROM n;
            """
        let slow = try tool.folder.write("slow.sql", endless.utf8)
        let options = tool.opening + ["--migrations", tool.migrations]
        let child = try ChildProcess(
            builtExecutable("migrationkit-cli"),
            ["schema-load", slow] + options,
            environment: tool.environment,
            newSession: true
        )
        try wait(for: "a journal") {
            try tool.folder.drafts(".store.db-writing-").contains { $0.hasSuffix("-journal") }
        }
        let drafts = try tool.folder.names.filter { $0.hasPrefix(".store.db-writing-") }
        #expect(!drafts.isEmpty)
        // Of another name, and of a file that only looks like one.
        let others = [".other.db-writing-1a", ".store.db-writing-1a.txt", ".store.db-writing-"]
        for other in others { try tool.folder.write(other, []) }

        // As long as it lives, nobody takes its files away.
        #expect(try tool.run(["schema-load", dump] + options).status == 0)
        #expect(try Set(tool.folder.names).isSuperset(of: drafts))
        unlink(tool.database)

        child.send(SIGKILL)
        #expect(try child.finish().signal == SIGKILL)
        #expect(try Set(tool.folder.names).isSuperset(of: drafts))
        #expect(try tool.run(["schema-load", dump] + options).status == 0)
        #expect(
            try tool.folder.names
                == (others + ["migrations", "password", "schema.sql", "slow.sql", "store.db"])
                .sorted()
        )
    }
}
