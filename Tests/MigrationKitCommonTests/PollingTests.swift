import Foundation
import Testing

@testable import MigrationKitCommon

@Suite struct PollingTests {
    private struct Interrupted: Error {}

    @Test(arguments: [0, -1, -Double.infinity, .nan])
    func withoutTimeItIsTriedOnce(timeout: TimeInterval) {
        var attempts = 0
        let value: Int? = Polling.value(within: timeout) {
            attempts += 1
            return nil
        }
        #expect(value == nil)
        #expect(attempts == 1)
    }

    @Test func itIsTriedUntilItWorks() {
        var attempts = 0
        var waits = 0
        let value = Polling.value(within: .infinity, whileWaiting: { waits += 1 }) {
            attempts += 1
            return attempts == 3 ? attempts : nil
        }
        #expect(value == 3)
        #expect(waits == 2)
    }

    @Test func itEndsWithTheTimeout() {
        let start = ContinuousClock.now
        let value: Int? = Polling.value(within: 0.1) { nil }
        #expect(value == nil)
        #expect(ContinuousClock.now - start >= .milliseconds(100))
    }

    @Test func anErrorEndsTheWaiting() {
        var attempts = 0
        #expect(throws: Interrupted.self) {
            try Polling.value(within: .infinity, whileWaiting: { throw Interrupted() }) {
                () throws -> Int? in
                attempts += 1
                return nil
            }
        }
        #expect(attempts == 1)
    }
}
