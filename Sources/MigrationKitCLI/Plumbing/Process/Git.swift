import Foundation
import MigrationKitCommon

/// A folder in the working folder's git repository, read by running `git`.
///
/// The repository is found from the working folder, never from the folder: a change that is checked
/// may have put another repository there, whose settings run commands.
struct GitFolder {
    /// The folder's path.
    let path: String

    /// Its path from the top of the repository, without a slash at its end; empty for the top.
    private let prefix: String

    /// - Throws: ``CommandError``.
    init(_ path: String) throws {
        self.path = path
        let found = try Self.run(["rev-parse", "--show-toplevel"])
        guard found.status == 0 else { throw found.failure(path) }
        // Without the line feed after it.
        let top = String(decoding: found.output, as: UTF8.self).dropLast()
        guard let prefix = Self.prefix(of: path, from: String(top)) else {
            throw CommandError.noRepository(path: path)
        }
        self.prefix = prefix
    }

    /// The path of a folder from the top of its repository, as it is written: where a link in the
    /// repository leads may be what a change has changed.
    ///
    /// - Returns: `nil` if the folder isn't in the repository.
    private static func prefix(of folder: String, from top: String) -> String? {
        guard let top = FolderIdentity(top) else { return nil }
        var rest = URL(fileURLWithPath: folder).standardizedFileURL.pathComponents[...]
        var place = ""
        while let name = rest.popFirst() {
            place = place.isEmpty ? name : "\(place)/\(name)"
            if FolderIdentity(place) == top { return rest.joined(separator: "/") }
        }
        return nil
    }

    /// The commit that a branch, a tag or the like names.
    ///
    /// - Throws: ``CommandError``.
    func commit(_ reference: String) throws -> String {
        // Otherwise git would take it for an option.
        guard !reference.isEmpty, !reference.hasPrefix("-"),
            let commit = try object("\(reference)^{commit}")
        else { throw CommandError.noSuchReference(reference) }
        return commit
    }

    /// The last commit that the current branch and another commit have in common; `nil` if there is
    /// none, or if a shallow clone doesn't have it.
    ///
    /// - Throws: ``CommandError``.
    func mergeBase(with commit: String) throws -> String? {
        let found = try Self.run(["merge-base", commit, "HEAD"])
        return found.status == 0 ? found.line : nil
    }

    /// The contents of the folder's files in a commit, by their paths in the folder.
    ///
    /// - Parameter isRead: Whether the file with a path is read. The content of any other is empty.
    /// - Returns: `nil` if the commit doesn't have the folder.
    /// - Throws: ``CommandError``.
    func files(
        in commit: String,
        where isRead: (String) -> Bool
    ) throws -> [String: [UInt8]]? {
        guard let tree = try tree(of: commit) else { return nil }
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
        // What git 2.45 and later may not fetch, it calls missing.
        guard contents.count == objects.count else { throw CommandError.partialClone }
        return contents
    }

    /// The folder in a commit.
    ///
    /// - Returns: `nil` if the commit doesn't have it.
    private func tree(of commit: String) throws -> String? {
        // Git reads a name a line.
        guard !prefix.contains("\n") else { return nil }
        let found = try succeed(
            ["cat-file", "--batch-check", "--follow-symlinks"],
            input: Data("\(commit):\(prefix)\n".utf8)
        )
        let words = String(decoding: found, as: UTF8.self).split(separator: " ")
        return words.count == 3 && words[1] == "tree" ? String(words[0]) : nil
    }

    /// - Returns: `nil` if nothing has the name.
    private func object(_ name: String) throws -> String? {
        let found = try Self.run(["rev-parse", "--verify", "--quiet", name])
        return found.status == 0 ? found.line : nil
    }

    private func succeed(_ arguments: [String], input: Data = Data()) throws -> Data {
        let result = try Self.run(arguments, input: input)
        guard result.status == 0 else { throw result.failure(path) }
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

        /// In the words of git 2, which has no exit codes for these.
        func failure(_ path: String) -> CommandError {
            if error.contains("not a git repository") { return .noRepository(path: path) }
            if error.contains("cannot use bare repository") { return .bareRepository }
            if error.contains("from promisor remote") { return .partialClone }
            // Git's last line is the command that declares the repository safe.
            if error.contains("safe.directory"), let line = error.split(separator: "\n").last {
                return .repositoryOfAnother(command: line.trimmingCharacters(in: .whitespaces))
            }
            return CommandError(ErrorCode("gitFailed", .inputOutput), "git failed: \(reason)")
        }
    }

    /// Not passed on: our passwords, and what a hook's environment says of the repository, which
    /// git finds itself from the folder.
    private static func isPassedOn(_ variable: String) -> Bool {
        !variable.hasPrefix("MIGRATIONKIT_")
            && !["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"].contains(variable)
    }

    /// What lets a repository's own settings run nothing: a bare repository that lies among the
    /// files isn't used, and no missing object is fetched, by no protocol.
    private static let caution = [
        "GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0",
    ]

    private static func run(_ arguments: [String], input: Data = Data()) throws -> Result {
        let process = Process()
        // Finds git on the PATH.
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["git", "-c", "safe.bareRepository=explicit"] + arguments
        process.environment = ProcessInfo.processInfo.environment
            .filter { isPassedOn($0.key) }
            .merging(caution) { $1 }
            .merging(["LC_ALL": "C"]) { $1 }
        let (standardInput, output, error) = (Pipe(), Pipe(), Pipe())
        process.standardInput = standardInput
        process.standardOutput = output
        process.standardError = error
        do {
            try process.run()
        } catch {
            throw CommandError.noGit
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
        guard process.terminationStatus != 127 else { throw CommandError.noGit }
        return Result(status: process.terminationStatus, output: data, error: text)
    }
}

// MARK: - Errors

/// Why a folder can't be read as it is in git.
extension CommandError {
    /// There is no `git` on the `PATH`.
    fileprivate static let noGit = CommandError(
        ErrorCode("noGit", .unavailable),
        "there is no git on the PATH, which --base needs",
        "Install git, or leave out --base."
    )

    /// The working folder is in no repository, or in one that doesn't have the folder.
    fileprivate static func noRepository(path: String) -> CommandError {
        CommandError(
            ErrorCode("noRepository", .noInput),
            "the working folder is in no git repository that has '\(path)'",
            "Run this in the repository that has the folder, or leave out --base."
        )
    }

    /// The repository belongs to another user, and git reads it only after a command.
    fileprivate static func repositoryOfAnother(command: String) -> CommandError {
        CommandError(
            ErrorCode("repositoryOfAnother", .noPermission),
            "the git repository belongs to another user, so git doesn't read it",
            "If it is your project's, as in a container, say so first:\n  \(command)"
        )
    }

    /// The working folder looks like a bare repository.
    fileprivate static let bareRepository = CommandError(
        ErrorCode("noRepository", .noInput),
        "the working folder looks like a bare git repository, which a change may have put there",
        """
        Run this at the top of the repository. If HEAD, objects and refs don't belong here, \
        remove them.
        """
    )

    /// The clone lacks objects, which git would fetch when they are read.
    fileprivate static let partialClone = CommandError(
        ErrorCode("gitFailed", .inputOutput),
        "this clone doesn't have all the files that --base needs",
        "Nothing is fetched here. Fetch the rest first: 'git fetch --refetch --no-filter'"
    )

    /// The repository doesn't have the branch, tag or commit.
    fileprivate static func noSuchReference(_ reference: String) -> CommandError {
        CommandError(
            ErrorCode("noSuchReference", .noInput),
            "git has no branch, tag or commit '\(reference)'",
            """
            A clone may have only the branch that was checked out. Fetch the other one first, for \
            example with 'git fetch origin main'.
            """
        )
    }

    /// The folder isn't in the commit.
    static func noFolder(path: String, inReference reference: String) -> CommandError {
        CommandError(
            ErrorCode("noFolderInReference", .noInput),
            "there is no folder '\(path)' in '\(reference)'",
            "If the whole folder is new, leave out --base."
        )
    }
}
