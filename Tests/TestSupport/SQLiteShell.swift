import Foundation

/// The `sqlite3` shell, which knows plaintext databases only.
public enum SQLiteShell {
    /// Runs a file of SQL on a database, which is made if there is none.
    ///
    /// - Parameters:
    ///   - file: The file's path.
    ///   - path: The database's path.
    /// - Throws: ``ProcessFailure`` if a statement fails.
    public static func run(file: String, on path: String) throws {
        let sql = try Data(contentsOf: URL(fileURLWithPath: file))
        let result = try TestSupport.run("sqlite3", ["-batch", "-bail", path], input: sql)
        _ = try ProcessFailure.check("sqlite3", result)
    }
}
