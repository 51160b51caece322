import Foundation
import TestSupport
import Testing

/// `create` on a disk that is full, or that takes a text in pieces.
@Suite struct NewMigrationFileTests {
    private let tool: Tool

    init() throws {
        tool = try Tool()
        try tool.writeItems()
    }

    /// A disk of the test's own that is full.
    @Test(.enabled(if: geteuid() == 0, "only root can mount a disk"))
    func fullDiskLeavesNoFile() throws {
        let result = try TestSupport.run(
            "unshare",
            [
                "--mount", "sh", "-c",
                """
                mount -t tmpfs -o size=16k none "$0" || exit 99
                echo "CREATE TABLE a(b);" >"$0/0001_a.sql"
                head -c 65536 /dev/zero >"$0/filler" 2>/dev/null
                "$@"; code=$?; ls "$0"; exit $code
                """,
                tool.migrations, builtExecutable("migrationkit-cli"), "create", "more",
                "--migrations", tool.migrations,
            ],
            environment: tool.environment,
            newSession: true
        )
        #expect(result.status == 73, "\(result)")
        #expect(result.stdout == "0001_a.sql\nfiller\n")
        #expect(result.stderr.contains("no space left on device"))
    }

    /// The first write of the command's own process is that of the file. It is said to have taken 5
    /// bytes, and takes none, so that the text without these is what a writer leaves that goes on where
    /// it was.
    @Test func aShortWriteIsGoneOnWith() throws {
        let result = try TestSupport.run(
            "strace",
            [
                "-f", "-qq", "-o", tool.folder.path("trace"), "-e", "trace=write",
                "-e", "inject=write:retval=5:when=1", builtExecutable("migrationkit-cli"),
                "create", "more", "--migrations", tool.migrations,
            ],
            environment: tool.environment,
            newSession: true
        )
        #expect(result.status == 0, "\(result)")
        let text = try tool.folder.data("migrations/0004_more.sql")
        #expect(String(decoding: text, as: UTF8.self) == "grate:up\n\n\n-- migrate:down\n\n")
        let names = try FileManager.default.contentsOfDirectory(atPath: tool.migrations)
        #expect(
            names.sorted()
                == ["0001_items.sql", "0002_row.sql", "0003_tags.sql", "0004_more.sql"]
        )
    }
}
