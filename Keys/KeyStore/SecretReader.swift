import Glibc

/// Reads secrets from descriptors straight into their final memory.
enum SecretReader {
    /// The most bytes that a secret may have: 64 KiB.
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

    /// Reads to the end, drops one newline there, and refuses what is empty or too large.
    ///
    /// - Throws: ``KeySourceError``.
    static func read(_ descriptor: Int32, named source: KeySource) throws -> Secret {
        // Room for the longest secret, the newline that may follow it, and one byte that shows
        // that there is more.
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

    /// Drops one trailing newline and refuses what is empty or too large.
    static func checked(_ secret: Secret, named source: KeySource) throws -> Secret {
        let trimmed = secret.droppingOneTrailingNewline()
        guard !trimmed.isEmpty else { throw KeySourceError.empty(source: "\(source)") }
        guard trimmed.count <= limit else {
            throw KeySourceError.tooLarge(source: "\(source)", limit: limit)
        }
        // The reading buffer is large and its pages count against the limit on locked memory.
        return trimmed === secret ? secret.withUnsafeBytes(Secret.init(copying:)) : trimmed
    }

    /// One read(2), waited for on descriptors that don't block.
    private static func readSome(
        _ descriptor: Int32,
        into memory: UnsafeMutableRawBufferPointer,
        named source: KeySource
    ) throws -> Int {
        while true {
            // A pipe in the file system that nobody has opened for writing yet would read as
            // ended; poll(2) waits for the writer.
            var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            if poll(&ready, 1, -1) < 0, errno == EINTR { continue }
            let count = Glibc.read(descriptor, memory.baseAddress, memory.count)
            if count >= 0 { return count }
            if errno == EINTR || errno == EAGAIN { continue }
            throw KeySourceError.unreadable(source: "\(source)", code: errno)
        }
    }
}
