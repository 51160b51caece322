import CKeyStore
import Glibc
import MigrationKitCommon

/// Reads secrets from descriptors directly into their final memory.
package enum SecretReader {
    /// The size limit of a secret: 64 KiB.
    package static let limit = 65536

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
    /// - Parameter expected: How many bytes there are, as far as that is known.
    /// - Throws: ``KeySourceError``.
    static func read(
        _ descriptor: Int32,
        expecting expected: Int = limit,
        named source: KeySource
    ) throws -> Secret {
        try checked(readAll(descriptor, expecting: expected, named: source), named: source)
    }

    /// Reads to the end, or to just past the limit.
    static func readAll(
        _ descriptor: Int32,
        expecting expected: Int = limit,
        named source: KeySource
    ) throws -> Secret {
        // Room for a newline after the longest secret, and for one more byte, which shows that there is
        // more.
        let capacity = min(expected, limit) + 3
        let secret = try fill(capacity, from: descriptor, named: source)
        guard secret.count == capacity, capacity < limit + 3 else { return secret }
        // The kernel makes some files as they are read, and says that they are empty.
        return try fill(limit + 3, after: secret, from: descriptor, named: source)
    }

    private static func fill(
        _ capacity: Int,
        after start: Secret? = nil,
        from descriptor: Int32,
        named source: KeySource
    ) throws -> Secret {
        try Secret(capacity: capacity) { memory in
            start?.withUnsafeBytes(memory.copyMemory(from:))
            var used = start?.count ?? 0
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
    }

    /// Drops one trailing newline. Throws if the secret is empty or too large.
    static func checked(_ secret: Secret, named source: KeySource) throws -> Secret {
        let trimmed = secret.droppingOneTrailingNewline()
        guard !trimmed.isEmpty else { throw KeySourceError.empty(source: "\(source)") }
        guard trimmed.count <= limit else {
            throw KeySourceError.tooLarge(source: "\(source)", limit: limit)
        }
        // Copied into a smaller buffer, since a large one counts against the limit on locked memory.
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
