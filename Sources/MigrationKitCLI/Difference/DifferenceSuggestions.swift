import MigrationKitGRDB

extension SchemaMigrationError: ToolSuggesting {
    func suggestion(program: String) -> String? {
        guard case .needsBackfill(let table, let column) = self else { return recoverySuggestion }
        return """
            Give the column a default in the wanted schema. Or add an expression over the old row: \
            --backfill \("\(table).\(column)=".printable)EXPRESSION
            """
    }
}
