import CLibCrypto
import FoundationEssentials
import MigrationKitKeys

/// Items with their secrets, as bytes that only the portal's secret opens.
///
/// | part | bytes |
/// | --- | --- |
/// | `migrationkit portal keys 1` and a newline | 27 |
/// | salt, random for each sealing | 32 |
/// | nonce, likewise | 12 |
/// | tag | 16 |
/// | the sealed items | the rest |
///
/// The cipher is AES-256-GCM, and its key is derived by HKDF with SHA-256 from the portal's secret,
/// the salt, and the info `migrationkit.portal-keys/1`. The first line and the salt are authenticated
/// with the items. These are four bytes with the length of a JSON document (least significant byte
/// first), the document, which describes the items, and their secrets, one after the other.
enum SealedItems {
    private static let format = Array("migrationkit portal keys 1\n".utf8)
    /// The most bytes of a file: thousands of keys. Others may have written it.
    static let limit = 1 << 20
    private static let info = Array("migrationkit.portal-keys/1".utf8)
    private static let (saltCount, nonceCount, tagCount, lengthCount) = (32, 12, 16, 4)

    /// What is written of an item, without its secret.
    private struct Description: Codable {
        let service: String
        let account: String?
        let label: String
        let form: String?
        let created: Date
        let secretCount: Int
    }

    // MARK: - Sealing

    /// - Throws: ``KeyStoreError/failure(message:)`` if libcrypto fails.
    static func seal(_ entries: [KeyEntry], with secret: Secret) throws -> [UInt8] {
        let header = format + randomBytes(saltCount)
        let nonce = randomBytes(nonceCount)
        let plain = try plain(entries)
        var tag = [UInt8](repeating: 0, count: tagCount)
        let sealed = try [UInt8](unsafeUninitializedCapacity: plain.count) { memory, count in
            try plain.withUnsafeBytes { plain in
                guard try cipher(true, header, nonce, plain, memory.baseAddress, &tag, secret)
                else { throw KeyStoreError.failure(message: "libcrypto can't seal") }
                count = plain.count
            }
        }
        return header + nonce + tag + sealed
    }

    private static func plain(_ entries: [KeyEntry]) throws -> Secret {
        let descriptions = entries.map { entry in
            Description(
                service: entry.item.service,
                account: entry.item.account,
                label: entry.item.label,
                form: entry.item.form?.rawValue,
                created: entry.item.created ?? .distantPast,
                secretCount: entry.secret.count
            )
        }
        let document = Array(try JSONEncoder().encode(descriptions))
        let length = (0..<lengthCount).map { UInt8(truncatingIfNeeded: document.count >> (8 * $0)) }
        let capacity = entries.reduce(length.count + document.count) { $0 + $1.secret.count }
        return Secret(
            capacity: capacity,
            initializingWith: { memory in
                memory.copyBytes(from: length + document)
                var start = length.count + document.count
                for entry in entries {
                    entry.secret.withUnsafeBytes { secret in
                        UnsafeMutableRawBufferPointer(rebasing: memory[start...])
                            .copyMemory(from: secret)
                        start += secret.count
                    }
                }
                return start
            }
        )
    }

    // MARK: - Opening

    private static let headerCount = format.count + saltCount
    private static let start = headerCount + nonceCount + tagCount

    /// Whether bytes may be sealed items.
    static func isOne(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.count >= start + lengthCount && bytes.starts(with: format)
    }

    /// - Parameter file: The file that has the bytes.
    /// - Throws: ``KeyStoreError/unreadableKeys(file:)`` if the portal's secret doesn't open the bytes, or
    ///   they are something else.
    static func open(
        _ bytes: [UInt8],
        of file: String,
        with secret: Secret,
        collection: String
    ) throws -> KeyEntries {
        let unreadable = KeyStoreError.unreadableKeys(file: file)
        guard isOne(bytes) else { throw unreadable }
        let nonce = Array(bytes[headerCount..<headerCount + nonceCount])
        var tag = Array(bytes[headerCount + nonceCount..<start])
        let plain = try Secret(capacity: bytes.count - start) { memory in
            try bytes[start...].withUnsafeBytes { sealed in
                let isOpen = try cipher(
                    false,
                    Array(bytes[..<headerCount]),
                    nonce,
                    sealed,
                    memory.baseAddress?.assumingMemoryBound(to: UInt8.self),
                    &tag,
                    secret
                )
                guard isOpen else { throw unreadable }
                return sealed.count
            }
        }
        guard let entries = entries(in: plain, collection: collection) else { throw unreadable }
        return entries
    }

    private static func entries(in plain: Secret, collection: String) -> KeyEntries? {
        plain.withUnsafeBytes { plain in
            let length = (0..<lengthCount).reduce(0) { $0 | Int(plain[$1]) << (8 * $1) }
            var rest = plain[lengthCount...]
            guard rest.count >= length,
                let descriptions = try? JSONDecoder().decode(
                    [Description].self,
                    from: Data(rest.prefix(length))
                )
            else { return nil }
            rest = rest.dropFirst(length)
            var entries = KeyEntries(collection: collection)
            for item in descriptions {
                guard (0...rest.count).contains(item.secretCount) else { return nil }
                entries.append(
                    Secret(copying: .init(rebasing: rest.prefix(item.secretCount))),
                    service: item.service,
                    account: item.account,
                    label: item.label,
                    form: item.form.flatMap(DatabaseKey.Form.init),
                    created: item.created
                )
                rest = rest.dropFirst(item.secretCount)
            }
            return entries
        }
    }

    // MARK: - Cryptography

    /// - Returns: Whether it is done. Otherwise libcrypto fails, or the secret doesn't open the bytes.
    private static func cipher(
        _ seals: Bool,
        _ header: [UInt8],
        _ nonce: [UInt8],
        _ input: UnsafeRawBufferPointer,
        _ output: UnsafeMutablePointer<UInt8>?,
        _ tag: inout [UInt8],
        _ secret: Secret
    ) throws -> Bool {
        let key = try HKDF.derive(
            from: secret,
            salt: Array(header.suffix(saltCount)),
            info: info,
            count: 32
        )
        let isDone = key.withUnsafeBytes { key in
            clibcrypto_aes256_gcm(
                seals ? 1 : 0,
                key.baseAddress?.assumingMemoryBound(to: UInt8.self),
                nonce,
                header,
                Int32(header.count),
                input.baseAddress?.assumingMemoryBound(to: UInt8.self),
                Int32(input.count),
                output,
                &tag
            )
        }
        return isDone == 1
    }

    private static func randomBytes(_ count: Int) -> [UInt8] {
        // From getrandom(2).
        (0..<count).map { _ in UInt8.random(in: 0...255) }
    }
}
