import MigrationKitSQL
import TestSupport
import Testing

/// Flyway's placeholders, which nothing replaces here.
@Suite struct PlaceholderTests {
    @Test func placeholderInALiteralIsRefusedWithItsPlace() throws {
        #expect(
            try message(of: ["V1__a.sql": "SELECT 1;\nINSERT INTO a VALUES ('${env.name}');\n"])
                == """
                V1__a.sql:2:24: '${env.name}' is a placeholder of Flyway, and is not replaced by a value here
                2 | INSERT INTO a VALUES ('***********');
                  |                        ^
                Write the value into the file. Where Flyway has applied it, its checksum differs then: \
                record the migration by a baseline instead of adopting Flyway's table. If it is text, as in \
                refinery or with Flyway's placeholderReplacement=false, write: '$' || '{env.name}'
                """
        )
    }

    @Test(arguments: [
        "CREATE TABLE ${schema}_a (x);", "SELECT \"${a}\";", "SELECT '${flyway:timestamp}';",
        "SELECT 1; -- ${a}\nSELECT '${b c}';",
    ])
    func placeholderIsFoundAnywhereInSQL(text: String) throws {
        #expect(try refusal(of: ["V1__a.sql": text])?.contains("is a placeholder") == true)
        let undo: KeyValuePairs = ["V1__a.sql": "SELECT 1;", "U1__a.sql": text]
        #expect(try refusal(of: undo)?.hasPrefix("U1__a.sql:") == true)
    }

    @Test func whatMayBeASecretIsNotShown() throws {
        let message = try message(of: ["V1__a.sql": "SELECT '${hush hush}';"])
        #expect(message?.hasPrefix("V1__a.sql:1:9: '${…}' is a placeholder") == true)
        #expect(message?.contains("hush") == false)
    }

    @Test(arguments: [
        "-- ${a}\nSELECT 1;", "/* ${a} */ SELECT 1;", "SELECT '$', '{a}', '$ {a}', '${}', '${a';",
        "SELECT '${a\n}';",
    ])
    func whatFlywayWouldNotReplaceOrChangesNothingIsRead(text: String) throws {
        #expect(try refusal(of: ["V1__a.sql": text]) == nil)
    }

    @Test func inOtherFormatsItIsText() throws {
        let text = "SELECT '${a}';"
        for name in ["1_a.sql", "1_a.up.sql", "1_a/up.sql"] {
            #expect(try refusal(of: [name: text]) == nil)
        }
        #expect(try refusal(of: ["1_a.sql": "-- migrate:up\n" + text]) == nil)
        #expect(try refusal(of: ["1_a.sql": "-- +goose Up\n" + text]) == nil)
    }
}
