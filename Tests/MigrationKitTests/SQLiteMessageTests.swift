import MigrationKit
import Testing

/// What is shown of SQLite's messages.
@Suite struct SQLiteMessageTests {
    @Test(arguments: [
        (
            "CHECK constraint failed: x <> 'text' AND y < 3",
            "CHECK constraint failed: x <> '****' AND y < 3"
        ),
        ("CHECK constraint failed: title_has_words", "CHECK constraint failed: title_has_words"),
        (#"near "'text'": syntax error"#, #"near "'****'": syntax error"#),
        (#"near "CREAT": syntax error"#, #"near "CREAT": syntax error"#),
        (
            #"error in view v: near "'text'": syntax error"#,
            #"error in view v: near "'****'": syntax error"#
        ),
        (#"unrecognized token: "'text;""#, "unrecognized token"),
        (
            "FOREIGN KEY constraint violation - from a(b) to c(d), in [b:7 e:\"text\"]",
            "FOREIGN KEY constraint violation - from a(b) to c(d)"
        ),
        ("bad JSON path: 'text'", "bad JSON path"),
        ("UNIQUE constraint failed: a.x", "UNIQUE constraint failed: a.x"),
        ("no such column: title", "no such column: title"),
    ])
    func valuesAreHiddenAndNamesStay(_ message: String, _ shown: String) {
        #expect(SQLiteMessage(message).withoutValues == shown)
    }

    @Test func theTextOfARaiseIsHidden() {
        let trigger: Int32 = 1811
        #expect(
            SQLiteMessage("any text", code: trigger).withoutValues == "a trigger refuses the row"
        )
        let action = "FOREIGN KEY constraint failed"
        #expect(SQLiteMessage(action, code: trigger).withoutValues == action)
    }
}
