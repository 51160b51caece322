import Foundation

/// Another process that has a database locked until it is told to let go.
final class LockHolder {
    private let process = Process()
    private let input = Pipe()

    /// Returns as soon as the lock is held.
    init(_ path: String, key: TestKey?) throws {
        let program = """
            import json, sys
            import sqlcipher3
            path, key = json.loads(sys.stdin.readline())
            connection = sqlcipher3.connect(path, isolation_level=None)
            if key:
                connection.execute('PRAGMA key = "' + key + '"')
            connection.execute("BEGIN EXCLUSIVE")
            print("locked", flush=True)
            sys.stdin.readline()
            """
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: Tools.python)
        process.arguments = ["-c", program]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        let line = try JSONSerialization.data(withJSONObject: [path, key?.spelling ?? ""])
        try input.fileHandleForWriting.write(contentsOf: line + Data("\n".utf8))
        guard output.fileHandleForReading.availableData.starts(with: Data("locked".utf8)) else {
            throw CocoaError(.executableLoad)
        }
    }

    deinit {
        release()
    }

    func release() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}
