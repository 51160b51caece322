/// A list of steps that is safe to run: every identifier once, in order.
///
/// The registry checks only identifiers. It opens no database and calls no closure, so a mistake in
/// the list is found before anything is changed.
public struct MigrationRegistry<Database>: Sendable {
    /// The steps, in the order in which they are applied.
    public let steps: [MigrationStep<Database>]

    /// The identifiers, in the order in which the steps are applied.
    public let identifiers: [String]

    /// These identifiers, and those of the steps that they replace.
    package let knownIdentifiers: Set<String>

    /// Whether a pending step may be applied to a database that has a later one.
    public private(set) var allowsOutOfOrder: Bool

    /// Checks a list of steps.
    ///
    /// - Parameters:
    ///   - steps: The steps, oldest first.
    ///   - enforceLexicographicOrder: Whether the identifiers must ascend as text, byte by byte. Leave it on: a
    ///     step inserted in the middle would be applied after later ones to existing databases, but
    ///     before them to new ones.
    ///   - allowsOutOfOrder: Whether a pending step may be applied to a database that has a later
    ///     one. This happens when two branches of development meet. New databases then run the
    ///     steps in another order, so it is off unless you ask for it.
    /// - Throws: ``MigrationKitError/duplicateIdentifiers(_:)``,
    ///   ``MigrationKitError/identifiersOutOfOrder(expected:actual:)`` or
    ///   ``MigrationKitError/mergesRegisteredMigration(merged:by:)``.
    public init(
        steps: [MigrationStep<Database>],
        enforceLexicographicOrder: Bool = true,
        allowsOutOfOrder: Bool = false
    ) throws {
        let identifiers = steps.map(\.identifier)

        var seen: Set<String> = []
        let repeated = Set(identifiers.filter { !seen.insert($0).inserted })
        guard repeated.isEmpty else {
            throw MigrationKitError.duplicateIdentifiers(repeated.sorted())
        }

        if enforceLexicographicOrder {
            let expected = identifiers.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            guard identifiers == expected else {
                throw MigrationKitError.identifiersOutOfOrder(
                    expected: expected,
                    actual: identifiers
                )
            }
        }

        for step in steps {
            if let merged = step.mergedIdentifiers.filter(seen.contains).min() {
                throw MigrationKitError.mergesRegisteredMigration(
                    merged: merged,
                    by: step.identifier
                )
            }
        }

        self.steps = steps
        self.identifiers = identifiers
        knownIdentifiers = steps.reduce(into: seen) { $0.formUnion($1.mergedIdentifiers) }
        self.allowsOutOfOrder = allowsOutOfOrder
    }

    /// The same registry, but a pending step may be applied to a database that has a later one.
    ///
    /// - Returns: The registry.
    public func allowingOutOfOrder() -> MigrationRegistry {
        var registry = self
        registry.allowsOutOfOrder = true
        return registry
    }

    /// Every step's identifier with the file that defines it, in order.
    public var manifest: [(identifier: String, sourceFile: String)] {
        steps.map { ($0.identifier, $0.sourceFile) }
    }

    /// The identifiers of the steps that can be rolled back, in order.
    public var rollbackCapableIdentifiers: [String] {
        steps.filter(\.canRollBack).map(\.identifier)
    }
}

extension Set<String> {
    /// Whether an identifier is in the set, compared byte by byte as SQLite does it.
    ///
    /// Swift takes two encodings of an accented letter for the same text, and a ledger doesn't. A
    /// registry can't have both, so only what comes from a ledger must be compared so.
    package func has(_ identifier: String) -> Bool {
        firstIndex(of: identifier).map { self[$0].utf8.elementsEqual(identifier.utf8) } ?? false
    }
}
