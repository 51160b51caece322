import Foundation
import MigrationKitCommon
import MigrationKitKeys
import MigrationKitSQL

/// A file that a command writes.
struct OutputFile {
    /// Its path, as it was given.
    let path: String

    /// Writes a text, replacing one that a command may have written before: never a database, a key or a
    /// migration.
    ///
    /// A regular file is replaced as a whole or not at all, and keeps its mode; that of another user's, as far
    /// as the umask allows. A symbolic link to one
    /// is refused, since a stranger's change could lead it to any file. If the path leads to a pipe, a
    /// device or an open descriptor (`/dev/stdout`), the text is written there; another user's pipe is refused.
    ///
    /// - Parameter migrations: The folder of the migrations, if there is one.
    /// - Throws: ``MigrationCLIError/cannotWrite(path:reason:)``; ``CommandError``.
    func write(_ text: String, besides migrations: String? = nil) throws {
        let place = try place()
        if case .file(let target, let status) = place,
            (status?.st_mode ?? S_IFREG) & S_IFMT == S_IFREG
        {
            guard target == path else {
                throw MigrationCLIError.cannotWrite(
                    path: path,
                    reason: "it is a link; give the path of the file itself"
                )
            }
            try Repository.refuseLink(path)
        }
        switch place {
        case .descriptor(let number):
            try send(text, to: number)
        case .file(let path, let status) where (status?.st_mode ?? S_IFREG) & S_IFMT == S_IFREG:
            if status?.st_size ?? 0 > 0 { try checkIsReplaceable(migrations) }
            try replace(path, mode: status.map(Self.mode), with: text)
        case .file(let path, let status):
            // It would wait until that user reads what isn't for them.
            if let status, status.st_mode & S_IFMT == S_IFIFO,
                ![geteuid(), 0].contains(status.st_uid)
            {
                throw MigrationCLIError.cannotWrite(
                    path: self.path,
                    reason: "it is a named pipe that belongs to another user"
                )
            }
            let descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW)
            guard descriptor >= 0 else { throw failure(errno) }
            defer { close(descriptor) }
            var status = stat()
            // Others may have put a file in its place, and it would be written over.
            guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT != S_IFREG else {
                throw failure(EEXIST)
            }
            try send(text, to: descriptor)
        }
    }

    // MARK: -

    private enum Place {
        /// A descriptor that the process has open.
        case descriptor(Int32)
        /// Not a link; the status is `nil` if nothing exists there.
        case file(String, stat?)
    }

    /// Follows links itself: realpath(3) fails for a dangling link and for a descriptor's.
    private func place() throws -> Place {
        var current = path
        // As many links as the kernel follows.
        for _ in 0...40 {
            let (folder, name) = current.splitAtLastSlash
            if let number = descriptor(name, in: folder) {
                return .descriptor(number)
            }
            var status = stat()
            guard lstat(current, &status) == 0 else {
                guard errno == ENOENT else { throw failure(errno) }
                return .file(current, nil)
            }
            guard status.st_mode & S_IFMT == S_IFLNK else { return .file(current, status) }
            guard let next = linkTarget(current) else { throw failure(errno) }
            current = next.hasPrefix("/") ? next : "\(folder)/\(next)"
        }
        throw failure(ELOOP)
    }

    /// The descriptor that a name in `/proc/self/fd` or `/dev/fd` means. Its file has a position
    /// and perhaps no name, so it isn't opened again.
    private func descriptor(_ name: String, in folder: String) -> Int32? {
        guard let number = Int32(name) else { return nil }
        return realPath(folder) == "/proc/\(getpid())/fd" ? number : nil
    }

    private func checkIsReplaceable(_ migrations: String?) throws {
        func refuse(_ what: String) -> MigrationCLIError {
            .cannotWrite(path: path, reason: "\(what) is there; give another name")
        }
        let (folder, name) = path.splitAtLastSlash
        if let migrations, realPath(folder) == realPath(migrations),
            name.prefixMatch(of: /[VUR]?[0-9]/) != nil
        {
            throw refuse("a migration")
        }
        guard name != SettingsFile.defaultName else { throw refuse("the project's settings file") }
        // What is longer than a beginning is no key.
        let file = FileHandle(forReadingAtPath: path)
        defer { try? file?.close() }
        guard let bytes = try? file?.read(upToCount: 65536) else { throw failure(EACCES) }
        // A character may be cut off.
        let text = (0...3).lazy.compactMap { String(bytes: bytes.dropLast($0), encoding: .utf8) }
        guard let text = text.first, !text.contains("\0") else {
            throw refuse("a file that is no text")
        }
        let lines = text.split(whereSeparator: \.isNewline)
        guard lines.count > 1 || lines.allSatisfy(Self.isStatement) else {
            throw refuse("a single line, which may be a key,")
        }
    }

    /// Whether a text of one line is what a command wrote, and no key.
    private static func isStatement(_ line: Substring) -> Bool {
        line.hasSuffix(";") && line.contains(" ") || line.hasPrefix("--")
            || ["erDiagram", "{", "}"].contains(line)
    }

    private func replace(_ path: String, mode: mode_t?, with text: String) throws {
        do {
            try NewFile.write(text.utf8, to: path, mode: mode, replaces: true)
        } catch let error as NewFileError {
            throw failure(error.code)
        }
    }

    /// The mode of what replaces a file. Another user who has laid a file there mustn't decide who may read.
    private static func mode(_ status: stat) -> mode_t {
        guard status.st_uid != geteuid() else { return status.st_mode & 0o7777 }
        let mask = umask(0o077)
        umask(mask)
        return status.st_mode & 0o777 & ~mask
    }

    private func send(_ text: String, to descriptor: Int32) throws {
        if let code = writeAll(Data(text.utf8), to: descriptor) { throw failure(code) }
    }

    private func failure(_ code: Int32) -> MigrationCLIError {
        .cannotWrite(path: path, reason: systemReason(code))
    }
}
