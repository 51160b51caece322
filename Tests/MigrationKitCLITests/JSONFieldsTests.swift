import MigrationKitCommon
import MigrationKitGRDB
import Testing

@testable import MigrationKitCLI

@Suite struct JSONFieldsTests {
    /// A field of a variable without a value must not become `null`.
    @Test func fieldsWithoutAValueAreLeftOut() throws {
        let (none, some): (String?, Int?) = (nil, 3)
        let fields: JSONFields = ["none": none, "some": some, "literal": nil, "list": [String]()]
        #expect(try JSON.text(of: fields) == #"{"list":[],"some":3}"#)
    }

    @Test func aReportsFieldsAreBesideThoseOfTheCommand() throws {
        let report = VerificationFinding("a row is wrong", table: "item", rowID: 7)
        let fields = JSONFields(report, ["database": "notes.db"])
        #expect(
            try JSON.text(of: fields)
                == #"{"database":"notes.db","rowid":7,"table":"item","text":"a row is wrong"}"#
        )
    }
}
