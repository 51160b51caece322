import Foundation

/// Python with sqlcipher3 from PyPI, whose SQLCipher is another one than ours and the shell's.
public enum Python {
    /// Where `Scripts/bootstrap --tests` puts it.
    public static var executable: String {
        get throws {
            try OtherProgram.require("Python with sqlcipher3")
            return PackageFolder.path(".build/python/bin/python")
        }
    }

    /// Runs a program to its end.
    ///
    /// - Parameters:
    ///   - program: Its text.
    ///   - input: What it reads as JSON from standard input, where no other process can see it.
    public static func run(_ program: String, input: [Any]) throws -> ProcessResult {
        let input = try JSONSerialization.data(withJSONObject: input)
        return try TestSupport.run(executable, ["-c", program], input: input)
    }

    /// Runs a program that is expected to end well, and answers what it prints.
    ///
    /// - Throws: ``ProcessFailure`` if it doesn't, or if it complains of anything.
    @discardableResult
    public static func output(of program: String, input: [Any]) throws -> String {
        try ProcessFailure.check("python", run(program, input: input)).stdout
    }

    /// Runs SQL on an encrypted database, commits, and answers the last statement's rows, a line
    /// each, with `|` between the values.
    ///
    /// - Parameters:
    ///   - path: The database, which is made if there is none.
    ///   - key: A passphrase, or a raw key in the form `x'...'`.
    ///   - statements: One statement each.
    public static func sqlcipher(
        _ path: String,
        key: String,
        _ statements: [String]
    ) throws -> String {
        let program =
            connect + """
                path, key, statements = json.load(sys.stdin)
                connection = connect(path, key)
                rows = []
                for statement in statements:
                    rows = connection.execute(statement).fetchall()
                connection.commit()
                connection.close()
                print("\\n".join("|".join(str(v) for v in row) for row in rows))
                """
        return try output(of: program, input: [path, key, statements])
            .trimmingCharacters(in: .newlines)
    }

    /// The beginning of a program that works on databases: `connect(path, key)`, with further
    /// arguments for `sqlcipher3.connect`. Without a key the database is a plaintext one.
    public static let connect = """
        import json, os, sys
        import sqlcipher3

        def connect(path, key, **options):
            connection = sqlcipher3.connect(path, **options)
            if key:
                connection.execute('PRAGMA key = "' + key.replace('"', '""') + '"')
            return connection


        """
}
