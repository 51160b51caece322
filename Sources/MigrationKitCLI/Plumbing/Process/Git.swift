import Foundation
import MigrationKitCommon

/// A folder in a git repository, read by running `git`.
struct GitFolder {
    /// The folder's path.
    let path: String

    /// Its path from the top of the repository, without a slash at its end; empty for the top.
    private let prefix: String

    /// - Throws: ``GitError``.
    init(_ path: String) throws {
        self.path = path
        let found = try Self.run(["rev-parse", "--show-prefix"], in: path)
        guard found.status == 0 else {
            // In the words of git 2, which has no exit code for it.
            throw found.error.contains("not a git repository")
                ? GitError.noRepository(path: path) : GitError.failed(reason: found.reason)
        }
        let prefix = String(decoding: found.output, as: UTF8.self).dropLast()
        self.prefix = String(prefix.hasSuffix("/") ? prefix.dropLast() : prefix)
    }

    /// The commit that a branch, a tag or the like names.
    ///
    /// - Throws: ``GitError``.
    func commit(_ reference: String) throws -> String {
        // Otherwise git would take it for an option.
        guard !reference.isEmpty, !reference.hasPrefix("-"),
            let commit = try object("\(reference)^{commit}")
        else { throw GitError.noSuchReference(reference) }
        return commit
    }

    /// The last commit that the current branch and another commit have in common; `nil` if there is
    /// none, or if a shallow clone doesn't have it.
    ///
    /// - Throws: ``GitError``.
    func mergeBase(with commit: String) throws -> String? {
        let found = try Self.run(["merge-base", commit, "HEAD"], in: path)
        return found.status == 0 ? found.line : nil
    }

    /// The contents of the folder's files in a commit, by their paths in the folder.
    ///
    /// - Parameter isRead: Whether the file with a path is read. The content of any other is empty.
    /// - Returns: `nil` if the commit doesn't have the folder.
    /// - Throws: ``GitError``.
    func files(
        in commit: String,
        where isRead: (String) -> Bool
    ) throws -> [String: [UInt8]]? {
        guard let tree = try object("\(commit):\(prefix)") else { return nil }
        let listing = try succeed(["ls-tree", "-r", "-z", "--full-tree", tree])
        var files: [String: [UInt8]] = [:]
        var wanted: [(path: String, object: String)] = []
        for entry in listing.split(separator: 0) {
            // MODE TYPE OBJECT<tab>PATH: https://git-scm.com/docs/git-ls-tree#_output_format
            let parts = entry.split(separator: UInt8(ascii: "\t"), maxSplits: 1)
            let words = parts[0].split(separator: UInt8(ascii: " "))
            // A link's content is its target, which may be anywhere.
            guard parts.count == 2, words.count == 3, words[0].starts(with: "100".utf8) else {
                continue
            }
            let path = String(decoding: parts[1], as: UTF8.self)
            files[path] = []
            if isRead(path) { wanted.append((path, String(decoding: words[2], as: UTF8.self))) }
        }
        let contents = try contents(of: wanted.map(\.object))
        for (path, content) in zip(wanted.map(\.path), contents) { files[path] = content }
        return files
    }

    /// The contents of objects, in order.
    private func contents(of objects: [String]) throws -> [[UInt8]] {
        guard !objects.isEmpty else { return [] }
        let output = [UInt8](
            try succeed(
                ["cat-file", "--batch"],
                input: Data(objects.joined(separator: "\n").utf8 + [UInt8(ascii: "\n")])
            )
        )
        var contents: [[UInt8]] = []
        var position = 0
        while position < output.count {
            // OBJECT TYPE SIZE, the content, a line feed each:
            // https://git-scm.com/docs/git-cat-file#_batch_output
            let heading = output[position...].prefix { $0 != UInt8(ascii: "\n") }
            let size = heading.split(separator: UInt8(ascii: " ")).last
                .flatMap { Int(String(decoding: $0, as: UTF8.self)) }
            let start = heading.endIndex + 1
            guard let size, start + size < output.count else { break }
            contents.append(Array(output[start..<start + size]))
            position = start + size + 1
        }
        guard contents.count == objects.count else {
            throw GitError.failed(reason: "an object is missing")
        }
        return contents
    }

    /// - Returns: `nil` if nothing has the name.
    private func object(_ name: String) throws -> String? {
        let found = try Self.run(["rev-parse", "--verify", "--quiet", name], in: path)
        return found.status == 0 ? found.line : nil
    }

    private func succeed(_ arguments: [String], input: Data = Data()) throws -> Data {
        let result = try Self.run(arguments, in: path, input: input)
        guard result.status == 0 else { throw GitError.failed(reason: result.reason) }
        return result.output
    }
}

// MARK: - Running

extension GitFolder {
    private struct Result {
        let status: Int32
        let output: Data
        let error: String

        var line: String {
            String(String(decoding: output, as: UTF8.self).prefix { $0 != "\n" })
        }

        /// The last line of standard error, without the word before it.
        var reason: String {
            let line = error.split(separator: "\n").last.map(String.init) ?? "exit code \(status)"
            return line.replacing(/^(fatal|error):\s*/, with: "")
        }
    }

    /// Not passed on: our passwords, and what a hook's environment says of the repository, which
    /// git finds itself from the folder.
    private static func isPassedOn(_ variable: String) -> Bool {
        !variable.hasPrefix("MIGRATIONKIT_")
            && !["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"].contains(variable)
    }

    private static func run(
        _ arguments: [String],
        in folder: String,
        input: Data = Data()
    ) throws -> Result {
        let process = Process()
        // Finds git on the PATH.
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["git", "-C", folder] + arguments
        process.environment = ProcessInfo.processInfo.environment
            .filter { isPassedOn($0.key) }
            .merging(["LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"]) { $1 }
        let (standardInput, output, error) = (Pipe(), Pipe(), Pipe())
        process.standardInput = standardInput
        process.standardOutput = output
        process.standardError = error
        do {
            try process.run()
        } catch {
            throw GitError.notInstalled
        }
        // Each pipe has its reader or writer, so that none waits for another.
        let group = DispatchGroup()
        let errors = Locked(Data())
        DispatchQueue(label: "MigrationKit.git.input").async(group: group) {
            try? standardInput.fileHandleForWriting.write(contentsOf: input)
            try? standardInput.fileHandleForWriting.close()
        }
        DispatchQueue(label: "MigrationKit.git.error").async(group: group) {
            let data = error.fileHandleForReading.readDataToEndOfFile()
            errors.withLock { $0 = data }
        }
        let data = output.fileHandleForReading.readDataToEndOfFile()
        group.wait()
        process.waitUntilExit()
        let text = String(decoding: errors.withLock { $0 }, as: UTF8.self)
        // The status of env if there is no such program:
        // https://pubs.opengroup.org/onlinepubs/9799919799/utilities/env.html
        guard process.terminationStatus != 127 else { throw GitError.notInstalled }
        return Result(status: process.terminationStatus, output: data, error: text)
    }
}

// MARK: - Git Error

/// Why a folder can't be read as it is in git.
enum GitError: Error, Equatable {
    /// There is no `git` on the `PATH`.
    case notInstalled

    /// The folder is in no repository.
    case noRepository(path: String)

    /// The repository doesn't have the branch, tag or commit.
    case noSuchReference(String)

    /// The folder isn't in the commit.
    case noFolder(path: String, reference: String)

    /// Git reported an error.
    case failed(reason: String)
}

extension GitError: CodedError {
    var errorDescription: String? {
        switch self {
        case .notInstalled: "there is no git on the PATH, which --base needs"
        case .noRepository(let path): "'\(path)' is not in a git repository"
        case .noSuchReference(let reference): "git has no branch, tag or commit '\(reference)'"
        case .noFolder(let path, let reference): "there is no folder '\(path)' in '\(reference)'"
        case .failed(let reason): "git failed: \(reason)"
        }
    }

    var recoverySuggestion: String? {
        switch self {
        case .notInstalled:
            "Install git, or leave out --base."
        case .noRepository:
            "Leave out --base, or give the folder of the repository with --migrations."
        case .noSuchReference:
            """
            A clone may have only the branch that was checked out. Fetch the other one first, for \
            example with: git fetch origin main
            """
        case .noFolder:
            "If the whole folder is new, leave out --base."
        case .failed:
            nil
        }
    }

    var code: ErrorCode {
        switch self {
        case .notInstalled: ErrorCode("noGit", .unavailable)
        case .noRepository: ErrorCode("noRepository", .noInput)
        case .noSuchReference: ErrorCode("noSuchReference", .noInput)
        case .noFolder: ErrorCode("noFolderInReference", .noInput)
        case .failed: ErrorCode("gitFailed", .inputOutput)
        }
    }
}
