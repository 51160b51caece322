import Foundation

/// The `sqlite3` shell, which knows plaintext databases only.
public enum SQLiteShell {
    /// Runs SQL on a database, which is made if there is none.
    ///
    /// - Parameters:
    ///   - path: The database's path.
    ///   - sql: The SQL, or commands of the shell's own.
    /// - Returns: What the shell prints.
    /// - Throws: ``ProcessFailure`` if a statement fails.
    public static func run(_ path: String, _ sql: String) throws -> String {
        try OtherProgram.require("the sqlite3 shell")
        let result = try TestSupport.run("sqlite3", ["-batch", "-bail", path], input: sql.utf8)
        return try ProcessFailure.check("sqlite3", result).stdout
    }

    /// Runs a file of SQL on a database, which is made if there is none.
    ///
    /// - Parameters:
    ///   - file: The file's path.
    ///   - path: The database's path.
    /// - Throws: ``ProcessFailure`` if a statement fails.
    public static func run(file: String, on path: String) throws {
        _ = try run(path, String(contentsOf: URL(fileURLWithPath: file), encoding: .utf8))
    }
}
