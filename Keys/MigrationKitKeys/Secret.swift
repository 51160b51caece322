import CKeyStore
import Glibc
import MigrationKitCommon

/// Bytes that only their user may see: a passphrase, or a key.
///
/// They are in separate memory pages, which are locked (as far as the limit on locked memory
/// allows), left out of core dumps and of forked children, and wiped when the last reference is
/// released. A secret's description is only `<redacted>`, it shows nothing to reflection, and can't
/// be encoded.
///
/// ```swift
/// let secret = try resolver.secret(from: .file(path: "key.txt"))
/// secret.withUnsafeBytes { bytes in
///     sqlite3_key(connection, bytes.baseAddress, Int32(bytes.count))
/// }
/// ```
///
/// An app that has a `Secret` of its own refers to this one as `MigrationKitKeys.Secret`.
public final class Secret: Sendable {
    // Written only in the initializer, before anyone else has the reference. Then it is read-only
    // until `deinit`.
    nonisolated(unsafe) private let pages: SecretPages

    /// How many bytes the secret has.
    public let count: Int

    /// Copies bytes. The caller must wipe the original.
    public convenience init(copying bytes: UnsafeRawBufferPointer) {
        self.init(capacity: bytes.count) { memory in
            memory.copyMemory(from: bytes)
            return bytes.count
        }
    }

    /// Lets a closure write the secret into its final memory.
    ///
    /// - Parameters:
    ///   - capacity: The most bytes that the closure may write.
    ///   - body: Receives zeroed memory of `capacity` bytes. Returns how many of them, from the
    ///     start, are the secret. The rest is wiped.
    /// - Throws: The closure's error, after everything is wiped.
    public init(
        capacity: Int,
        initializingWith body: (UnsafeMutableRawBufferPointer) throws -> Int
    ) rethrows {
        let pages = SecretPages(capacity: capacity)
        do {
            let used = try body(
                UnsafeMutableRawBufferPointer(start: pages.base, count: capacity)
            )
            precondition((0...capacity).contains(used), "more bytes claimed than there was room")
            explicit_bzero(pages.base + used, pages.byteCount - used)
            count = used
            self.pages = pages
        } catch {
            pages.release()
            throw error
        }
    }

    /// Copies a text's UTF-8 bytes.
    ///
    /// A `String` can't be wiped, so use this only for what the system already has as text: a
    /// command-line argument or an environment variable.
    public convenience init(utf8 string: String) {
        var string = string
        self.init(
            capacity: string.utf8.count,
            initializingWith: { memory in
                string.withUTF8 { memory.copyMemory(from: UnsafeRawBufferPointer($0)) }
                return memory.count
            }
        )
    }

    deinit {
        pages.release()
    }

    /// Random bytes from the kernel (getentropy(3), that is getrandom(2)).
    ///
    /// - Throws: ``DatabaseKeyError/noRandomBytes(code:)`` if the kernel gives none.
    public static func random(count: Int) throws -> Secret {
        try Secret(capacity: count) { memory in
            // getentropy(3) gives at most 256 bytes a call.
            for start in stride(from: 0, to: count, by: 256) {
                let length = min(256, count - start)
                guard getentropy(memory.baseAddress.map { $0 + start }, length) == 0 else {
                    throw DatabaseKeyError.noRandomBytes(code: errno)
                }
            }
            return count
        }
    }

    /// Whether the secret has no bytes.
    public var isEmpty: Bool { count == 0 }

    /// Gives a closure the bytes, for as long as it runs.
    public func withUnsafeBytes<Result>(
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        try body(UnsafeRawBufferPointer(start: pages.base, count: count))
    }

    /// The bytes as a text, which can't be wiped: only for what is no secret, or where a caller's
    /// interface asks for a text.
    package var unwipableText: String { withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }

    /// Writes the bytes to a descriptor, past every buffer.
    ///
    /// - Returns: `nil`, or the errno of what went wrong.
    package func write(to descriptor: Int32) -> Int32? {
        withUnsafeBytes { writeAll($0, to: descriptor) }
    }

    /// The secret without one newline (`\n` or `\r\n`) at its end; the same object if it has none.
    ///
    /// Files and pipes usually end with a newline that isn't part of the passphrase.
    public func droppingOneTrailingNewline() -> Secret {
        withUnsafeBytes { bytes in
            guard bytes.last == UInt8(ascii: "\n") else { return self }
            let kept = bytes.dropLast()
            let end = kept.last == UInt8(ascii: "\r") ? kept.count - 1 : kept.count
            return Secret(copying: UnsafeRawBufferPointer(rebasing: bytes[..<end]))
        }
    }
}

extension Secret: Equatable {
    /// Compares in a time that depends only on the lengths, not on where the bytes differ.
    public static func == (left: Secret, right: Secret) -> Bool {
        left.withUnsafeBytes { leftBytes in
            right.withUnsafeBytes { rightBytes in
                guard leftBytes.count == rightBytes.count else { return false }
                var difference: UInt8 = 0
                for index in leftBytes.indices {
                    difference |= leftBytes[index] ^ rightBytes[index]
                }
                return difference == 0
            }
        }
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Always `<redacted>`.
    public var description: String { "<redacted>" }
    /// Always `<redacted>`.
    public var debugDescription: String { "<redacted>" }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Memory pages for one secret: locked, left out of core dumps and of forked children.
///
/// The pages contain nothing else, since locks and dump rules apply to whole pages, and locks don't
/// nest (mlock(2)).
struct SecretPages {
    let base: UnsafeMutableRawPointer
    let byteCount: Int

    /// Maps zeroed pages for at least `capacity` bytes.
    init(capacity: Int) {
        precondition(capacity >= 0, "a secret's size can't be negative")
        let page = Int(sysconf(Int32(_SC_PAGESIZE)))
        byteCount = max(1, (capacity + page - 1) / page) * page
        let mapped = mmap(
            nil,
            byteCount,
            PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS,
            -1,
            0
        )
        // Running out of memory ends the process, as for every other allocation in Swift.
        guard let mapped, mapped != MAP_FAILED else { fatalError("no memory for a secret") }
        base = mapped
        // Errors of all three are ignored. There is a limit on locked memory (RLIMIT_MEMLOCK, often
        // 8 MB, 64 KB on older systems). Past it, a secret may be swapped out, but that is no
        // reason to fail.
        mlock(base, byteCount)
        madvise(base, byteCount, Int32(MADV_DONTDUMP))
        madvise(base, byteCount, Int32(MADV_WIPEONFORK))
    }

    /// Wipes and unmaps the pages.
    func release() {
        explicit_bzero(base, byteCount)
        munmap(base, byteCount)
    }
}

// MARK: - Secret Reader

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
        try checked(readAll(descriptor, named: source), named: source)
    }

    /// Reads to the end, or to just past the limit.
    static func readAll(_ descriptor: Int32, named source: KeySource) throws -> Secret {
        // Room for the longest secret, a newline after it, and one more byte that shows that there
        // is more.
        try Secret(capacity: limit + 3) { memory in
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
        /// As ``ownerOnly``, for a key that a service manager or a cluster has put into a folder: the
        /// file may be a link within that folder, and if it is root's, a group may read it, without
        /// which this user couldn't.
        /// <https://kubernetes.io/docs/concepts/configuration/secret/#using-secrets-as-files-from-a-pod>
        case mounted
    }

    static func read(_ path: String, trust: Trust, named source: KeySource) throws -> Secret {
        let descriptor = try open(trust == .mounted ? withoutInnerLinks(path) : path)
        defer { close(descriptor) }

        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw KeySourceError.unreadable(source: "\(source)", code: errno)
        }
        let kind = status.st_mode & S_IFMT
        guard kind == S_IFREG || kind == S_IFIFO else { throw KeySourceError.notAFile(path: path) }
        if trust != .anyOwner {
            guard status.st_uid == geteuid() || status.st_uid == 0 else {
                throw KeySourceError.wrongOwner(path: path, owner: status.st_uid)
            }
            let isReadByGroup = trust == .mounted && status.st_uid == 0 && geteuid() != 0
            guard status.st_mode & (isReadByGroup ? 0o037 : 0o077) == 0 else {
                throw KeySourceError.openToOthers(path: path, mode: status.st_mode & 0o7777)
            }
        }
        return try SecretReader.read(descriptor, named: source)
    }

    /// The file that a path leads to, if it is in the path's folder or one below. Otherwise the path
    /// itself, which is then refused if it is a link.
    private static func withoutInnerLinks(_ path: String) -> String {
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? "./"
        guard let file = realPath(path), let place = realPath(String(folder)),
            file.hasPrefix(place.hasSuffix("/") ? place : place + "/")
        else { return path }
        return file
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

// MARK: - Pipe

/// A pipe whose ends no other program inherits. Each end is closed at most once.
final class Pipe {
    private(set) var read: Int32
    private(set) var write: Int32

    init() throws {
        var ends: [Int32] = [-1, -1]
        guard ckeystore_pipe(&ends) == 0 else {
            throw KeySourceError.unreadable(source: "a pipe", code: errno)
        }
        read = ends[0]
        write = ends[1]
    }

    deinit {
        closeReadEnd()
        closeWriteEnd()
    }

    func closeReadEnd() {
        if read >= 0 { close(read) }
        read = -1
    }

    func closeWriteEnd() {
        if write >= 0 { close(write) }
        write = -1
    }
}

// MARK: - System Message

/// The system's text for an errno, worded for the end of a line.
func systemMessage(_ code: Int32) -> String {
    String(cString: strerror(code))
}
