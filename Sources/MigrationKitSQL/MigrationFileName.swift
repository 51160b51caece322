/// What the name of a file in a migrations folder says.
struct MigrationFileName {
    enum Role {
        /// Both parts in one file: `0001_name.sql`.
        case single
        /// What applies the step: `0001_name.up.sql`.
        case up
        /// What takes it back: `0001_name.down.sql`.
        case down
    }

    /// The file's name without its endings.
    let identifier: String
    let role: Role

    /// - Returns: `nil` for a file that is none of ours: a hidden one, or no SQL.
    init?(_ name: String) {
        // A file system may have given a file the ending .SQL.
        let lowercased = name.lowercased()
        guard !name.hasPrefix("."), lowercased.hasSuffix(".sql") else { return nil }
        let (role, ending): (Role, String) =
            switch lowercased {
            case _ where lowercased.hasSuffix(".up.sql"): (.up, ".up.sql")
            case _ where lowercased.hasSuffix(".down.sql"): (.down, ".down.sql")
            default: (.single, ".sql")
            }
        self.identifier = String(name.dropLast(ending.count))
        self.role = role
    }

    /// The digits that an identifier begins with, without leading zeros; `nil` if there are none.
    static func number(of identifier: String) -> Substring? {
        let digits = identifier.prefix { ("0"..."9").contains($0) }
        return digits.isEmpty ? nil : digits.drop { $0 == "0" }
    }
}
