import MigrationKitSQL

extension MigrationFolderError: ToolSuggesting {
    func suggestion(program: String) -> String? {
        guard case .noSuchFolder = self else { return recoverySuggestion }
        return """
            Give the folder of the SQL files with --migrations. 'create <name>' creates it with a \
            first migration.
            """
    }
}
