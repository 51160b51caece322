import Foundation
import TestSupport
import Testing

private let compiler = try? TestSupport.run("clang", ["--version"])

/// A disk that gives an error where it is read: which file that is on is told, and nothing is taken
/// for damage of another one, nor for success.
@Suite(.enabled(if: compiler != nil, "needs clang"))
struct ReadFailureTests {
    private let tool: Tool
    private let disk: String
    private var output: String { tool.folder.path("new.db") }

    /// Some bytes of a file can't be read any more, after that went well a few times.
    private static let badDisk = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <errno.h>
        #include <fcntl.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <unistd.h>
        ssize_t pread64(int file, void *bytes, size_t count, off_t offset) {
            static int reads;
            char link[64], path[4096];
            snprintf(link, sizeof link, "/proc/self/fd/%d", file);
            ssize_t length = readlink(link, path, sizeof path - 1);
            off_t bad = atol(getenv("BAD_OFFSET"));
            path[length < 0 ? 0 : length] = 0;
            const char *end = path + strlen(path) - strlen(getenv("BAD_END"));
            if (strstr(path, getenv("BAD_FILE")) && end >= path && !strcmp(end, getenv("BAD_END"))
                && offset < bad + 4096 && offset + (off_t)count > bad
                && ++reads > atoi(getenv("BAD_AFTER"))) {
                close(open(getenv("BAD_MARK"), O_WRONLY | O_CREAT, 0600));
                errno = EIO;
                return -1;
            }
            ssize_t (*next)(int, void *, size_t, off_t) = dlsym(RTLD_NEXT, "pread64");
            return next(file, bytes, count, offset);
        }
        ssize_t pread(int file, void *bytes, size_t count, off_t offset) {
            return pread64(file, bytes, count, offset);
        }
        """

    init() throws {
        tool = try Tool(isRawKey: true)
        _ = try tool.shell(
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, a);
            WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 400)
            INSERT INTO t (a) SELECT hex(randomblob(500)) FROM c;
            """
        )
        disk = tool.folder.path("disk.so")
        try tool.folder.write("disk.c", Self.badDisk.utf8)
        let made = try TestSupport.run(
            "clang",
            ["-shared", "-fPIC", "-o", disk, tool.folder.path("disk.c")]
        )
        try #require(made.status == 0, "\(made)")
    }

    /// - Parameters:
    ///   - file: What the path of the file has in it that can't be read, and how it ends.
    ///   - page: The page, from 1.
    ///   - count: How often it can be read.
    /// - Returns: `nil` if it wasn't read more often.
    private func run(
        _ command: [String],
        bad file: (part: String, end: String),
        page: Int,
        after count: Int
    ) throws -> ProcessResult? {
        var tool = tool
        let mark = tool.folder.path("mark")
        tool.environment["LD_PRELOAD"] = disk
        tool.environment["BAD_FILE"] = file.part
        tool.environment["BAD_END"] = file.end
        tool.environment["BAD_OFFSET"] = "\((page - 1) * 4096)"
        tool.environment["BAD_AFTER"] = "\(count)"
        tool.environment["BAD_MARK"] = mark
        let result = try tool.run([command[0]] + tool.opening + command.dropFirst())
        if unlink(mark) == 0 { return result }
        #expect(result.status == 0, "\(result)")
        return nil
    }

    /// Every reading of a page of the new file fails, one after the other.
    @Test(arguments: ["backup", "salvage", "decrypt"], [1, 3, 40])
    func newFileThatCannotBeReadIsNoDamageOfTheDatabase(_ command: String, page: Int) throws {
        let before = try tool.folder.data("store.db")
        var arguments = [command, "--output", output]
        if command == "decrypt" { arguments.append("--yes") }
        var count = 0
        while let result = try run(arguments, bad: ("-converting-", ""), page: page, after: count) {
            let place = "\(command), page \(page) after \(count): \(result)"
            #expect(result.status == 74, "\(place)")
            #expect(result.stderr.contains("\(output) can't be read"), "\(place)")
            let reason = try /a read error|can't be read back from the disk/.firstMatch(
                in: result.stderr
            )
            #expect(reason != nil, "\(place)")
            #expect(try tool.folder.data("store.db") == before, "\(place)")
            let names = try tool.folder.names
            #expect(
                names == ["disk.c", "disk.so", "migrations", "password", "store.db"],
                "\(place)"
            )
            count += 1
            try #require(count < 30)
        }
        #expect(count > 0)
    }

    @Test func unreadableFirstPageIsNoWrongKeyToSalvage() throws {
        let result = try run(
            ["salvage", "--output", output],
            bad: ("/store.db", "/store.db"),
            page: 1,
            after: 0
        )
        #expect(result?.status == 74, "\(String(describing: result))")
        #expect(result?.stderr.contains("store.db can't be read") == true)
    }

    /// Every reading of an inner page, and of a leaf, fails, one after the other.
    @Test(arguments: [2, 5, 40])
    func aPageThatCanNotBeReadAgainIsReportedAsDamaged(_ page: Int) throws {
        var count = 0
        while let result = try run(
            ["salvage", "--json", "--output", output],
            bad: ("/store.db", "/store.db"),
            page: page,
            after: count
        ) {
            let place = "page \(page) after \(count): \(result)"
            let rows = try SQLCipherShell.run(
                output,
                key: "x'\(tool.password)'",
                "SELECT count(*) FROM t;"
            )
            #expect(result.status == (rows == "400" ? 0 : 2), "\(place)")
            #expect(((try result.json()["damagedPages"]) as? [Any])?.count == 1, "\(place)")
            try FileManager.default.removeItem(atPath: output)
            count += 1
            try #require(count < 30)
        }
        #expect(count > 1)
    }
}
