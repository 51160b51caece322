import GRDB

extension DatabaseWriter {
    /// Reads, with CHECK constraints: SQLite leaves them out of the schema of a connection that is
    /// read-only, as those are that a pool reads with, and `quick_check` then says nothing of them.
    ///
    /// For a pool this opens a connection as its own were.
    func readingWithConstraints<Value>(_ body: (Database) throws -> Value) throws -> Value {
        guard let pool = self as? DatabasePool else { return try read(body) }
        var configuration = pool.configuration.forReadingAlongside
        configuration.busyMode = pool.configuration.busyMode
        return try DatabaseQueue(path: pool.path, configuration: configuration).readAndClose(body)
    }
}

extension DatabaseQueue {
    /// Reads, and closes the connection.
    func readAndClose<Value>(_ body: (Database) throws -> Value) throws -> Value {
        let value = try read(body)
        try close()
        return value
    }
}
