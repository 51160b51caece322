import Foundation
import GRDB

extension DatabaseFunction {
    /// The SQL function `uuid()`: returns a new random UUID (version 4) as lower-case text at each
    /// call. Made for `DEFAULT (uuid())`. An index can't use it, since it is not deterministic.
    public static let uuid = DatabaseFunction("uuid", argumentCount: 0, pure: false) { _ in
        UUID().uuidString.lowercased()
    }
}
