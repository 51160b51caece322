import GRDB
import MigrationKitTestSupport
import TestSupport
import XCTest

/// The checks know no framework for tests: here they are in the other one.
final class XCTestUseTests: XCTestCase {
    let check = MigrationCheck(steps: soundSteps())

    func testEveryVersionGoesForthAndBack() throws {
        XCTAssertEqual(try check.everything().withoutRollback, ["0004_seed"])
    }

    func testTagsSurvive() throws {
        try check.rows(
            plantedAt: "0002_tags",
            plant: { db in
                try db.execute(sql: "INSERT INTO item VALUES (1, 'a')")
                try db.execute(sql: "INSERT INTO tag VALUES (10, 1)")
            },
            survive: { db in
                XCTAssertEqual(try Int.fetchAll(db, sql: "SELECT id FROM tag"), [10])
            }
        )
    }

    func testBrokenStepsAreCaught() throws {
        let check = MigrationCheck(steps: [step("0001", "CREATE TABLE a (id)", down: "SELECT 1")])
        XCTAssertNoThrow(try check.freshInstall())
        XCTAssertThrowsError(try check.everyRollback()) { error in
            XCTAssertEqual(
                error as? MigrationCheckError,
                .rollbackLeavesOtherSchema(step: "0001", difference: "+ CREATE TABLE a (id)")
            )
        }
    }
}
