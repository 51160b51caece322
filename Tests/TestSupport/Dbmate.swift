/// dbmate from PyPI, which migrates plaintext databases with folders of its form.
public enum Dbmate {
    /// Where `Scripts/bootstrap --tests` puts it.
    private static let executable = PackageFolder.path(".build/python/bin/dbmate")

    /// Runs a command on a database.
    ///
    /// - Parameters:
    ///   - command: The command, such as `up` or `down`.
    ///   - path: The database's absolute path.
    ///   - migrations: The folder of migrations.
    /// - Throws: ``ProcessFailure`` if it fails.
    public static func run(_ command: String, on path: String, migrations: String) throws {
        try OtherProgram.require("dbmate")
        let result = try TestSupport.run(
            executable,
            [
                "--url", "sqlite:\(path)", "--migrations-dir", migrations, "--no-dump-schema",
                command,
            ]
        )
        guard result.status == 0 else { throw ProcessFailure(program: "dbmate", result: result) }
    }
}
