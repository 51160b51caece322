import MigrationKitSQLCipher

extension ConversionEvent.Phase {
    /// Those of a whole database: there is nothing to search for, and no page to be read alone.
    static let ofWholeDatabases: [ConversionEvent.Phase] = [.copying, .comparing, .verifying]
}
