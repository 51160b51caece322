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
