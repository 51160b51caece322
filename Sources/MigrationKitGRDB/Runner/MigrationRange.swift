/// How far a run goes.
package struct MigrationRange: Sendable {
    /// The last step to apply; `nil` for all.
    package let target: String?
    /// How many steps at most; `nil` for all.
    package let count: Int?

    package init(upTo target: String? = nil, steps count: Int? = nil) {
        self.target = target
        self.count = count
    }
}
