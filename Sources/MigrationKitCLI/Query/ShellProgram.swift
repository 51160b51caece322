import Foundation
import MigrationKitKeys
import MigrationKitCommon

/// The program that takes the place of this process.
enum ShellProgram {
    /// A program's path: as it is given, or in a folder of PATH.
    ///
    /// - Returns: `nil` if there is none that can be run.
    static func find(_ name: String) -> String? {
        if name.contains("/") { return isExecutable(name) ? name : nil }
        let folders = environmentVariable("PATH") ?? "/usr/local/bin:/usr/bin:/bin"
        return folders.split(separator: ":").map { "\($0)/\(name)" }.first(where: isExecutable)
    }

    private static func isExecutable(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
            && access(path, X_OK) == 0
    }

    /// A pipe that holds a text, and nothing else ever: its other end is closed.
    ///
    /// - Returns: The end to read from, which the next program inherits.
    static func pipe(containing text: Secret) throws -> Int32 {
        var ends: [Int32] = [-1, -1]
        guard Foundation.pipe(&ends) == 0 else { throw POSIXError.last }
        defer { close(ends[1]) }
        // A pipe takes 64 KB at once; the text has less than one.
        if let code = text.write(to: ends[1]) {
            close(ends[0])
            throw POSIXError(errno: code)
        }
        return ends[0]
    }

    /// Runs another program in this process: it has the terminal, the signals and the exit code.
    ///
    /// - Returns: Why it can't be started.
    static func replaceProcess(by path: String, _ arguments: [String]) -> CommandError {
        // A path that can't be opened, so that neither a file nor its folder is made.
        setenv("SQLITE_HISTORY", "/dev/null/none", 1)
        // What is ignored here would stay ignored.
        signal(SIGPIPE, SIG_DFL)
        signal(SIGXFSZ, SIG_DFL)
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
        words.append(nil)
        execv(path, words)
        return .shellNotStarted(path, errno: errno)
    }
}
