/// The `sqlcipher` shell, a SQLCipher that is not inside the tests' own process.
public enum SQLCipherShell {
    /// Makes a table `t` and an index `i` that lacks one of its rows.
    public static let shortIndex = """
        CREATE TABLE t (a); CREATE INDEX i ON t (a); INSERT INTO t VALUES (1);
        .dbconfig defensive off
        PRAGMA writable_schema = ON;
        UPDATE sqlite_schema SET sql = 'CREATE INDEX i ON t (a) WHERE a < 2' WHERE name = 'i';
        PRAGMA writable_schema = RESET;
        INSERT INTO t VALUES (5);
        PRAGMA writable_schema = ON;
        UPDATE sqlite_schema SET sql = 'CREATE INDEX i ON t (a)' WHERE name = 'i';
        """

    /// Runs SQL and answers what it prints, without the last line's newline.
    ///
    /// - Parameters:
    ///   - path: The database, which is made if there is none.
    ///   - key: A passphrase, or a raw key in the form `x'...'`; nil for a plaintext database.
    ///   - compatibility: The SQLCipher version whose format is used instead of the shell's own.
    ///   - sql: The statements, each with its semicolon.
    /// - Throws: ``ProcessFailure`` if a statement fails, or if the shell complains of anything.
    public static func run(
        _ path: String,
        key: String?,
        compatibility: Int? = nil,
        _ sql: String
    ) throws -> String {
        try OtherProgram.require("the sqlcipher shell")
        // Giving a key prints "ok", which is no answer to the SQL.
        var input = ".bail on\n.output /dev/null\n"
        if let key { input += "PRAGMA key = \"\(key.replacing("\"", with: "\"\""))\";\n" }
        if let compatibility { input += "PRAGMA cipher_compatibility = \(compatibility);\n" }
        input += ".output stdout\n\(sql)\n"
        let result = try TestSupport.run("sqlcipher", ["-batch", path], input: input.utf8)
        let output = try ProcessFailure.check("sqlcipher", result).stdout
        return output.hasSuffix("\n") ? String(output.dropLast()) : output
    }
}
