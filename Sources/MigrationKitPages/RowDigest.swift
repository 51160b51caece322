import CLibCrypto
import CSQLCipher
import Foundation

/// A SHA-256 of rows. Each value goes in with its type and its length, so different rows have
/// different digests.
package final class RowDigest {
    private static let capacity = 1 << 16
    private let context: OpaquePointer
    private var buffer: [UInt8] = []

    package init() throws {
        guard let context = EVP_MD_CTX_new() else { throw LibCryptoError.refused }
        self.context = context
        buffer.reserveCapacity(Self.capacity + 64)
        guard EVP_DigestInit_ex2(context, EVP_sha256(), nil) == 1 else {
            throw LibCryptoError.refused
        }
    }

    deinit {
        EVP_MD_CTX_free(context)
    }

    /// Adds the current row of a statement.
    ///
    /// - Parameter isUTF16: Whether the database stores text as UTF-16. Text is digested as stored:
    ///   converting invalid text could make different bytes equal.
    /// - Returns: The number of bytes in the row's values.
    package func add(_ statement: OpaquePointer?, isUTF16: Bool) throws -> Int {
        var total = 0
        for column in 0..<sqlite3_column_count(statement) {
            let type = sqlite3_column_type(statement, column)
            switch type {
            case SQLITE_INTEGER:
                try add(type, UInt64(bitPattern: sqlite3_column_int64(statement, column)))
                total += 8
            case SQLITE_FLOAT:
                try add(type, sqlite3_column_double(statement, column).bitPattern)
                total += 8
            case SQLITE_TEXT where isUTF16:
                let text = sqlite3_column_text16(statement, column)
                total += try add(type, text, sqlite3_column_bytes16(statement, column))
            case SQLITE_TEXT:
                let text = UnsafeRawPointer(sqlite3_column_text(statement, column))
                total += try add(type, text, sqlite3_column_bytes(statement, column))
            case SQLITE_BLOB:
                let blob = sqlite3_column_blob(statement, column)
                total += try add(type, blob, sqlite3_column_bytes(statement, column))
            default:
                try add(type, 0)
                total += 1
            }
        }
        return total
    }

    package func finish() throws -> [UInt8] {
        try flush()
        var digest = [UInt8](repeating: 0, count: 32)
        guard EVP_DigestFinal_ex(context, &digest, nil) == 1 else {
            throw LibCryptoError.refused
        }
        return digest
    }

    private func add(_ type: Int32, _ value: UInt64) throws {
        if buffer.count > Self.capacity { try flush() }
        buffer.append(UInt8(truncatingIfNeeded: type))
        withUnsafeBytes(of: value.littleEndian) { buffer.append(contentsOf: $0) }
    }

    private func add(_ type: Int32, _ bytes: UnsafeRawPointer?, _ count: Int32) throws -> Int {
        let bytes = UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : Int(count))
        try add(type, UInt64(bytes.count))
        if buffer.count + bytes.count > Self.capacity { try flush() }
        if bytes.count > Self.capacity {
            try update(bytes)
        } else {
            buffer.append(contentsOf: bytes)
        }
        return bytes.count + 1
    }

    private func flush() throws {
        try buffer.withUnsafeBytes(update)
        buffer.removeAll(keepingCapacity: true)
    }

    private func update(_ bytes: UnsafeRawBufferPointer) throws {
        guard EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1 else {
            throw LibCryptoError.refused
        }
    }
}
