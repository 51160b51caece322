import MigrationKitGRDB

extension SchemaMigration {
    /// A migration with these statements.
    package init(
        up: [String],
        down: [String],
        notBroughtBack: [String] = [],
        refusedOnWayBack: [String] = [],
        hazards: [SchemaHazard] = []
    ) {
        self.up = up
        self.down = down
        self.notBroughtBack = notBroughtBack
        self.refusedOnWayBack = refusedOnWayBack
        self.hazards = hazards
    }
}

extension SchemaHazard {
    /// A hazard with these texts.
    package init(
        _ kind: Kind,
        table: String,
        column: String? = nil,
        message: String,
        suggestion: String,
        countQuery: String? = nil
    ) {
        self.kind = kind
        self.table = table
        self.column = column
        self.message = message
        self.suggestion = suggestion
        self.countQuery = countQuery
    }
}
