import Foundation
import GRDB

extension DatabaseFunction {
    /// The SQL function `uuid()`: a random UUID (version 4) as lower-case text, another one each
    /// time. Made for `DEFAULT (uuid())`; an index can't use it, since it is not deterministic.
    public static let uuid = DatabaseFunction("uuid", argumentCount: 0, pure: false) { _ in
        UUID().uuidString.lowercased()
    }
}
