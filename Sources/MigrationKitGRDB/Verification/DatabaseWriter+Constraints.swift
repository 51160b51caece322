import GRDB

extension DatabaseWriter {
    /// Reads with CHECK constraints. SQLite leaves them out of the schema of a read-only
    /// connection, such as a pool's readers, and `quick_check` then doesn't check them.
    ///
    /// For a pool, this opens a connection with the pool's configuration.
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
