/// SQLite's two ways to change a file, by the names of their journal modes.
enum Journal: String, CaseIterable {
    case rollbackJournal = "DELETE"
    case writeAheadLog = "WAL"
}
