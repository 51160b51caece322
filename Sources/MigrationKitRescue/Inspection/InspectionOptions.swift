import Foundation
import MigrationKit

/// Who watches an inspection.
package struct InspectionOptions: OperationOptions {
    package var cancellation: Cancellation?
    package var observer: (@Sendable (InspectionProgress) -> Void)?

    package init() {}

    /// Nothing is waited for.
    package var timeout: TimeInterval { 0 }
}

/// How many of a file's pages are checked.
package struct InspectionProgress: Sendable {
    package let checkedPages: Int
    package let pageCount: Int
}
