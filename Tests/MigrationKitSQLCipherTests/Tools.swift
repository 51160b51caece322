import Foundation
import Testing

/// Other programs on the same files.
enum Tools {
    struct Result {
        let status: Int32
        let output: String
        let error: String
    }

    struct Failed: Error {
        let program: String
        let result: Result
    }

    /// The package's folder.
    static let package = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Python with sqlcipher3, which `Scripts/bootstrap --tests` puts there.
    static let python = package.appendingPathComponent(".build/python/bin/python").path

    /// Runs SQL in the `sqlcipher` shell.
    static func sqlcipher(
        _ path: String,
        key: TestKey?,
        compatibility: Int? = nil,
        sql: String
    ) throws -> String {
        var input = ".bail on\n"
        if let key { input += "PRAGMA key = \"\(key.spelling)\";\n" }
        if let compatibility { input += "PRAGMA cipher_compatibility = \(compatibility);\n" }
        let result = try run("/usr/bin/sqlcipher", ["-batch", path], input: input + sql + "\n")
        guard result.status == 0 else { throw Failed(program: "sqlcipher", result: result) }
        let lines = result.output.split(separator: "\n").drop { $0 == "ok" }
        return lines.joined(separator: "\n")
    }

    /// Runs SQL with Python's sqlcipher3 and returns the last statement's rows.
    static func python(_ path: String, key: TestKey, sql: [String]) throws -> String {
        let program = """
            import json, sys
            import sqlcipher3
            path, key, statements = json.load(sys.stdin)
            connection = sqlcipher3.connect(path)
            connection.execute('PRAGMA key = "' + key + '"')
            rows = []
            for statement in statements:
                rows = connection.execute(statement).fetchall()
            connection.commit()
            connection.close()
            print("\\n".join("|".join(str(v) for v in row) for row in rows))
            """
        let input = try JSONSerialization.data(withJSONObject: [path, key.spelling, sql])
        let result = try run(
            python,
            ["-c", program],
            input: String(decoding: input, as: UTF8.self)
        )
        guard result.status == 0 else { throw Failed(program: "python", result: result) }
        return result.output.trimmingCharacters(in: .newlines)
    }

    /// Runs a program to its end. Its input and outputs are files, so that no pipe can fill up.
    static func run(
        _ program: String,
        _ arguments: [String],
        input: String = "",
        environment: [String: String] = [:]
    ) throws -> Result {
        let folder = try TestFolder()
        try folder.write(Data(input.utf8), to: "input")
        try folder.write(Data(), to: "output")
        try folder.write(Data(), to: "error")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = FileHandle(forReadingAtPath: folder.file("input"))
        process.standardOutput = FileHandle(forWritingAtPath: folder.file("output"))
        process.standardError = FileHandle(forWritingAtPath: folder.file("error"))
        try process.run()
        process.waitUntilExit()
        return Result(
            status: process.terminationStatus,
            output: String(decoding: try folder.data("output"), as: UTF8.self),
            error: String(decoding: try folder.data("error"), as: UTF8.self)
        )
    }
}
