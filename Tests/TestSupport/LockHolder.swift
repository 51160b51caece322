import Foundation

/// Another process that has a database locked until it is told to let go.
public final class LockHolder: Sendable {
    private let process: ChildProcess

    /// Returns as soon as the lock, an exclusive one, is held.
    ///
    /// - Parameters:
    ///   - path: The database.
    ///   - key: A passphrase, or a raw key in the form `x'...'`; nil for a plaintext database.
    public init(_ path: String, key: String?) throws {
        let program =
            Python.connect + """
                path, key = json.loads(sys.stdin.readline())
                connection = connect(path, key, isolation_level=None)
                connection.execute("BEGIN EXCLUSIVE")
                print("locked", flush=True)
                sys.stdin.readline()
                """
        process = try ChildProcess(Python.executable, ["-c", program])
        process.write(try JSONSerialization.data(withJSONObject: [path, key ?? ""]))
        process.write("\n".utf8)
        guard process.readLine() == "locked" else {
            throw ProcessFailure(program: "python", result: try process.finish())
        }
    }

    /// Lets go; returns once the process has ended.
    public func release() throws {
        _ = try ProcessFailure.check("python", process.finish())
    }
}
