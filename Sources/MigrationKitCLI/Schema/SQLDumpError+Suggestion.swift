import MigrationKitSQL

extension SQLDumpError: ToolSuggesting {
    func suggestion(program: String) -> String? {
        guard case .noSuchFile = self else { return recoverySuggestion }
        return "Check the path. 'schema-dump' writes such a file."
    }
}
