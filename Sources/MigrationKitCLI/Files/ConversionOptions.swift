import ArgumentParser
import MigrationKitSQLCipher

/// The options of every command that rewrites a database.
struct ConversionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Write this new file, and leave the database as it is.",
            valueName: "path"
        ),
        completion: .file()
    )
    var output: String?

    @Option(
        help: ArgumentHelp(
            "First copy the old database to this new file.",
            valueName: "path"
        ),
        completion: .file()
    )
    var keepOriginal: String?

    @Option(
        help: ArgumentHelp(
            "The new file's page size in bytes: a power of two from 512 to 65536.",
            valueName: "number"
        )
    )
    var pageSize: Int?

    func validate() throws {
        try checkNotEmpty(output, "--output")
        try checkNotEmpty(keepOriginal, "--keep-original")
        if output != nil, keepOriginal != nil {
            throw ValidationError(
                "--output doesn't replace the database. Leave out --keep-original."
            )
        }
        // The limits of SQLite and SQLCipher. <https://www.sqlite.org/fileformat.html#page_size>
        if let pageSize, !(512...65536).contains(pageSize) || pageSize.nonzeroBitCount != 1 {
            throw ValidationError(
                "The page size must be a power of two from 512 to 65536, not \(pageSize)."
            )
        }
    }
}
