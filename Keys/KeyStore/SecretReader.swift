import Glibc

/// Reads secrets from descriptors directly into their final memory.
enum SecretReader {
    /// The size limit of a secret: 64 KiB.
    static let limit = 65536

    /// Reads to its end what this process has open, unless that is a terminal.
    ///
    /// - Throws: ``KeySourceError``.
    static func readOpen(_ descriptor: Int32, named source: KeySource) throws -> Secret {
        let flags = fcntl(descriptor, F_GETFL)
        guard flags >= 0, flags & O_ACCMODE != O_WRONLY else {
            throw KeySourceError.badDescriptor(descriptor)
        }
        guard isatty(descriptor) == 0 else { throw KeySourceError.terminal(source: "\(source)") }
        return try read(descriptor, named: source)
    }

    /// Reads to the end, and drops one trailing newline. Throws if the secret is empty or too
    /// large.
    ///
    /// - Throws: ``KeySourceError``.
    static func read(_ descriptor: Int32, named source: KeySource) throws -> Secret {
        // Room for the longest secret, a newline after it, and one more byte that shows that there
        // is more.
        let whole = try Secret(capacity: limit + 3) { memory in
            var used = 0
            while used < memory.count {
                let count = try readSome(
                    descriptor,
                    into: UnsafeMutableRawBufferPointer(rebasing: memory[used...]),
                    named: source
                )
                if count == 0 { break }
                used += count
            }
            return used
        }
        return try checked(whole, named: source)
    }

    /// Drops one trailing newline. Throws if the secret is empty or too large.
    static func checked(_ secret: Secret, named source: KeySource) throws -> Secret {
        let trimmed = secret.droppingOneTrailingNewline()
        guard !trimmed.isEmpty else { throw KeySourceError.empty(source: "\(source)") }
        guard trimmed.count <= limit else {
            throw KeySourceError.tooLarge(source: "\(source)", limit: limit)
        }
        // Copied into a smaller buffer, since the large one counts against the limit on locked
        // memory.
        return trimmed === secret ? secret.withUnsafeBytes(Secret.init(copying:)) : trimmed
    }

    /// Calls read(2) once. On a nonblocking descriptor, waits for data.
    private static func readSome(
        _ descriptor: Int32,
        into memory: UnsafeMutableRawBufferPointer,
        named source: KeySource
    ) throws -> Int {
        while true {
            // A named pipe that nobody has opened for writing yet would seem to be at its end.
            // poll(2) waits for the writer.
            var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            if poll(&ready, 1, -1) < 0, errno == EINTR { continue }
            let count = Glibc.read(descriptor, memory.baseAddress, memory.count)
            if count >= 0 { return count }
            if errno == EINTR || errno == EAGAIN { continue }
            throw KeySourceError.unreadable(source: "\(source)", code: errno)
        }
    }
}

/// Opens password files and checks them before reading.
///
/// A file is opened once, and the opened file is checked, not the path. So nobody can replace it in
/// between.
enum SecretFile {
    /// Who must own the file, and who may have access.
    enum Trust {
        /// This user or root, and nobody else.
        case ownerOnly
        /// The folder's creator has ensured that it is safe.
        case anyOwner
    }

    static func read(_ path: String, trust: Trust, named source: KeySource) throws -> Secret {
        let descriptor = try open(path)
        defer { close(descriptor) }

        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw KeySourceError.unreadable(source: "\(source)", code: errno)
        }
        let kind = status.st_mode & S_IFMT
        guard kind == S_IFREG || kind == S_IFIFO else { throw KeySourceError.notAFile(path: path) }
        if trust == .ownerOnly {
            guard status.st_uid == geteuid() || status.st_uid == 0 else {
                throw KeySourceError.wrongOwner(path: path, owner: status.st_uid)
            }
            guard status.st_mode & 0o077 == 0 else {
                throw KeySourceError.openToOthers(path: path, mode: status.st_mode & 0o7777)
            }
        }
        return try SecretReader.read(descriptor, named: source)
    }

    /// Opens without following a link in the last component, without waiting for the other end of a
    /// pipe, and without making a terminal our controlling one.
    private static func open(_ path: String) throws -> Int32 {
        if let number = descriptorNumber(path) {
            let copy = fcntl(number, F_DUPFD_CLOEXEC, 3)
            guard copy >= 0 else { throw KeySourceError.badDescriptor(number) }
            return copy
        }
        let descriptor = Glibc.open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor < 0 else { return descriptor }
        switch errno {
        case ENOENT, ENOTDIR: throw KeySourceError.noSuchFile(path: path)
        case ELOOP: throw KeySourceError.symbolicLink(path: path)
        case EACCES, EPERM: throw KeySourceError.permissionDenied(path: path)
        case ENXIO: throw KeySourceError.notAFile(path: path)
        default: throw KeySourceError.unreadable(source: "the file \"\(path)\"", code: errno)
        }
    }

    /// The descriptor that a path means, as in a shell's `<(...)`.
    ///
    /// `/dev/fd/63` is a link, and links aren't followed. It means a descriptor that this process
    /// already has open, so that one is used.
    static func descriptorNumber(_ path: String) -> Int32? {
        if path == "/dev/stdin" { return 0 }
        for folder in ["/dev/fd/", "/proc/self/fd/"] where path.hasPrefix(folder) {
            let digits = path.dropFirst(folder.count)
            return digits.allSatisfy { $0.isASCII && $0.isNumber } ? Int32(digits) : nil
        }
        return nil
    }
}
