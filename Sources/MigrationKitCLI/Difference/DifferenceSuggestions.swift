import MigrationKitLint
import MigrationKitSchema

extension SchemaDifferenceError: ToolSuggesting {
    var suggestion: String? {
        guard case .needsBackfill(let table, let column) = self else { return recoverySuggestion }
        return """
            Give the column a default in the wanted schema. Or add an expression over the old row: \
            --backfill \("\(table).\(column)=".printable)EXPRESSION
            """
    }
}

extension SchemaMigrationProofError: ToolSuggesting {
    var suggestion: String? {
        // What is pending has run by then.
        guard stage == .start else { return recoverySuggestion }
        return """
            Nothing was written. The database has drifted: its applied migrations give another \
            schema. '\(Program.name) verify' names what differs, and '\(Program.name) repair --schema' writes \
            the SQL that brings it back. '--ignore-table' leaves out a table of another program.
            """
    }
}
