import Foundation
import TestSupport
import Testing

/// SQL on standard input, and rows on a terminal and for other programs.
@Suite struct QueryCommandTests {
    private let store: QueriedStore<Tool>

    init() throws {
        store = try QueriedStore<Tool>()
    }

    private func lines(_ arguments: String..., input: String = "") throws -> [String] {
        let result = try store.query(arguments, input: input)
        #expect(result.status == 0, "\(result)")
        return result.stdout.split(separator: "\n").map(String.init)
    }

    // MARK: - SQL

    @Test func sqlComesFromAnArgumentAFileOrStandardInput() throws {
        try store.tool.folder.write("sql", "SELECT 1 AS a -- one\n;\n".utf8)
        #expect(try lines("SELECT 1 AS a;") == ["a", "-", "1"])
        #expect(try lines("--file", store.tool.folder.path("sql")) == ["a", "-", "1"])
        for arguments in [[], ["-"], ["--file", "-"]] {
            let result = try store.query(arguments, input: "SELECT 1 AS a")
            #expect(result.stdout == "a\n-\n1\n", "\(result)")
        }
    }

    @Test func standardInputGivesTheKeyOrTheSQL() throws {
        let result = try store.tool.run(
            ["query", "--db-path", store.tool.database, "--password-file", "-", "--raw-key"],
            input: store.tool.password
        )
        #expect(result.status == 64)
        #expect(result.stderr.contains("standard input can't give both"), "\(result)")
        let other = try store.tool.run(
            [
                "query", "SELECT 1", "--db-path", store.tool.database, "--password-file", "-",
                "--raw-key",
            ],
            input: store.tool.password
        )
        #expect(other.status == 0, "\(other)")
    }

    @Test func mistakeInAFileHasItsLine() throws {
        let result = try store.query(input: "SELECT 1,\n  2,\n  FROM note")
        #expect(result.stderr.contains("syntax error (line 3)"), "\(result)")
    }

    // MARK: - Formats

    @Test func csvIsReadBackByOthers() throws {
        let result = try store.query("SELECT * FROM note ORDER BY id", "--format", "csv")
        let program = """
            import csv, sys
            rows = list(csv.reader(open(sys.argv[1], encoding='utf-8', errors='surrogateescape', newline='')))
            for row in rows: print(len(row), ascii(row[1]))
            """
        try store.tool.folder.write("rows.csv", result.outputBytes)
        let read = try TestSupport.run(
            "python3",
            ["-c", program, store.tool.folder.path("rows.csv")]
        )
        #expect(
            read.stdout
                == #"""
                4 'title'
                4 'plain'
                4 '\x1b]0;owned\x07\x1b[31mred'
                4 'two\nlines\r\x08|`<b>'
                4 '\udcffA\xc2\udc9b31m'
                4 'a\x00b'
                4 '\u202etfel\x9b31m\u2028'

                """#.replacing(#"\xc2\udc9b"#, with: #"\x9b"#),
            "\(read)"
        )
        #expect(result.stdout.contains("\n3,\"two"))
        #expect(result.stdout.contains(",\"\",-0.1\n"))
        #expect(result.stdout.contains("red\",,inf\n"))
    }

    @Test(arguments: [20, 33, 40, 80])
    func tableIsNeverWiderThanTheTerminal(_ columns: Int) throws {
        let sql = """
            SELECT 'short' AS a, printf('%.*c', 500, 'x') AS b, '日本語' || printf('%.*c', 90, 'y') AS c, \
            zeroblob(300) AS d
            """
        let result = try store.onTerminal([sql], columns: columns).finish()
        #expect(result.status == 0)
        let lines = result.stdout.components(separatedBy: "\r\n").filter { !$0.isEmpty }
        for line in lines {
            let width = line.unicodeScalars.reduce(0) { $0 + ($1.value > 0x2FFF ? 2 : 1) }
            #expect(width <= columns, "\(line)")
        }
        #expect(lines.contains { $0.contains("…") })
        #expect(lines.contains { $0.contains("short") })
    }

    @Test func eachValueHasALineIfTheColumnsDoNotFit() throws {
        let names = (1...30).map { "\($0) AS column\($0)" }.joined(separator: ", ")
        let result = try store.onTerminal(["SELECT \(names)"], columns: 40).finish()
        let lines = result.stdout.components(separatedBy: "\r\n").filter { !$0.isEmpty }
        #expect(lines.count == 30)
        #expect(lines.last == "column30  30")
    }
}
