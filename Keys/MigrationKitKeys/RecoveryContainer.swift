import CLibCrypto
import Glibc

/// A key in a PKCS#12 container, protected by a passphrase.
///
/// OpenSSL's command opens it, too, and asks for the passphrase:
///
/// ```sh
/// openssl pkcs12 -in FILE | tail -n 1 | tr -d ' '
/// ```
///
/// It prints the key's bytes as hexadecimal digits. Of a passphrase, `xxd -r -p` makes text again.
///
/// | part of PKCS#12 | what it is here |
/// | --- | --- |
/// | bag | one secret bag, encrypted by PBES2: AES-256-CBC, PBKDF2 with HMAC-SHA256 |
/// | its type | `aes-256-cbc` for a raw key, `pkcs7-data` for a passphrase |
/// | friendly name | the item that the key is from |
/// | integrity | HMAC-SHA256 over the encrypted bag |
///
/// <https://www.rfc-editor.org/rfc/rfc7292>
public enum RecoveryContainer {
    /// The iterations of both derivations from the passphrase.
    /// <https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html#pbkdf2>
    public static let iterations: Int32 = 600_000

    /// OpenSSL's command reads a line of at most 1024 bytes.
    /// <https://docs.openssl.org/3.0/man1/openssl-passphrase-options/>
    private static let passphraseLimit = 1023

    /// Whether bytes begin like a container: with the tag of a sequence, which no text has.
    package static func isOne(_ bytes: Secret) -> Bool {
        bytes.withUnsafeBytes {
            $0.first == 0x30 && $0.dropFirst().first.map { $0 >= 0x80 } == true
        }
    }

    /// The container with a key. With the usual iterations, this takes about a second.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - name: What the key is for. It can be read only with the passphrase.
    ///   - passphrase: What opens the container.
    ///   - iterations: How often the passphrase is hashed. Once is enough for one that nobody chose.
    /// - Throws: ``RecoveryCopyError/unusablePassphrase(limit:)``;
    ///   ``RecoveryCopyError/notSealed``.
    public static func seal(
        _ key: DatabaseKey,
        named name: String,
        with passphrase: Secret,
        iterations: Int32 = iterations
    ) throws -> [UInt8] {
        let passphrase = try terminated(passphrase)
        var container: UnsafeMutablePointer<UInt8>?
        defer { clibcrypto_free(container) }
        let count = key.secret.withUnsafeBytes { bytes in
            passphrase.withUnsafeBytes { passphrase in
                clibcrypto_container_seal(
                    bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
                    Int32(bytes.count),
                    key.form == .rawKey ? 1 : 0,
                    name,
                    passphrase.baseAddress?.assumingMemoryBound(to: CChar.self),
                    iterations,
                    &container
                )
            }
        }
        guard count > 0, let container else { throw RecoveryCopyError.notSealed }
        return Array(UnsafeBufferPointer(start: container, count: Int(count)))
    }

    /// The key in a container.
    ///
    /// - Parameters:
    ///   - container: The bytes of its file.
    ///   - passphrase: What opens it.
    ///   - source: The file's name in errors.
    ///   - mostIterations: A container that asks for more is taken for damaged.
    /// - Throws: ``RecoveryCopyError``; ``DatabaseKeyError`` if the content can't be a key.
    public static func open(
        _ container: Secret,
        with passphrase: Secret,
        named source: String,
        mostIterations: Int32 = 10_000_000
    ) throws -> DatabaseKey {
        let passphrase = try terminated(passphrase)
        var result = CLIBCRYPTO_CONTAINER_MALFORMED
        var isRaw: Int32 = 0
        let secret = Secret(
            capacity: SecretReader.limit,
            initializingWith: { memory in
                var count: Int32 = 0
                container.withUnsafeBytes { bytes in
                    passphrase.withUnsafeBytes { passphrase in
                        result = clibcrypto_container_open(
                            bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
                            bytes.count,
                            passphrase.baseAddress?.assumingMemoryBound(to: CChar.self),
                            Int(mostIterations),
                            memory.baseAddress?.assumingMemoryBound(to: UInt8.self),
                            Int32(memory.count),
                            &count,
                            &isRaw
                        )
                    }
                }
                return Int(count)
            }
        )
        switch result {
        case CLIBCRYPTO_CONTAINER_OPENED: break
        case CLIBCRYPTO_CONTAINER_NOT_AUTHENTIC:
            throw RecoveryCopyError.wrongPassphrase(source: source)
        default: throw RecoveryCopyError.damaged(source: source)
        }
        // In a smaller buffer: the large one counts against the limit on locked memory.
        let key = secret.withUnsafeBytes(Secret.init(copying:))
        return try isRaw == 1 ? .rawKey(bytes: key) : .passphrase(key)
    }

    /// The passphrase with the NUL at which libcrypto takes it to end.
    private static func terminated(_ passphrase: Secret) throws -> Secret {
        try passphrase.withUnsafeBytes { bytes in
            let refused: Set<UInt8> = [0, UInt8(ascii: "\n"), UInt8(ascii: "\r")]
            guard (1...passphraseLimit).contains(bytes.count),
                !bytes.contains(where: refused.contains)
            else { throw RecoveryCopyError.unusablePassphrase(limit: passphraseLimit) }
            return Secret(
                capacity: bytes.count + 1,
                initializingWith: { memory in
                    memory.copyMemory(from: bytes)
                    return memory.count
                }
            )
        }
    }
}

extension RecoveryContainer {
    /// Reads a recovery copy, in a container or on lines, without changing a byte.
    ///
    /// A container isn't secret, so anybody may own its file.
    ///
    /// - Parameter path: The file; `-` for standard input.
    /// - Throws: ``KeySourceError``; ``RecoveryCopyError/notACopy(source:)``.
    package static func read(_ path: String) throws -> Secret {
        let source: KeySource = path == "-" ? .standardInput : .file(path: path)
        let copy: Secret
        if path == "-" {
            guard isatty(STDIN_FILENO) == 0 else {
                throw KeySourceError.terminal(source: "\(source)")
            }
            copy = try SecretReader.readAll(STDIN_FILENO, named: source)
        } else {
            let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
            guard descriptor >= 0 else {
                switch errno {
                case ENOENT, ENOTDIR: throw RecoveryCopyError.noSuchFile(path: path)
                case EACCES: throw KeySourceError.permissionDenied(path: path)
                default: throw KeySourceError.unreadable(source: "\(source)", code: errno)
                }
            }
            defer { close(descriptor) }
            copy = try SecretReader.readAll(descriptor, named: source)
        }
        guard copy.count <= SecretReader.limit, !copy.isEmpty else {
            throw RecoveryCopyError.notACopy(source: "\(source)")
        }
        return copy
    }
}
