import MigrationKitKeys
import MigrationKitPages

/// How a database is written to disk: as plaintext, or encrypted with a key.
public struct DatabaseForm: Equatable, Sendable {
    package enum Content: Equatable, Sendable {
        case plaintext(pageSize: Int?)
        case encrypted(DatabaseKey, CipherSettings)
    }

    package let content: Content

    /// As plaintext.
    ///
    /// - Parameter pageSize: The page size of a new file in bytes, a power of two from 512 to
    ///   65536; `nil` for that of the database that it is made from. Ignored for an existing file.
    public static func plaintext(pageSize: Int? = nil) -> DatabaseForm {
        DatabaseForm(content: .plaintext(pageSize: pageSize))
    }

    /// Encrypted.
    ///
    /// - Parameters:
    ///   - key: A passphrase, or a raw key.
    ///   - cipher: How the file is encrypted, beside the key.
    public static func encrypted(
        _ key: DatabaseKey,
        cipher: CipherSettings = .current
    ) -> DatabaseForm {
        DatabaseForm(content: .encrypted(key, cipher))
    }

    /// Whether there is a key.
    public var isEncrypted: Bool { key != nil }

    package var key: DatabaseKey? {
        if case .encrypted(let key, _) = content { key } else { nil }
    }

    package var cipher: CipherSettings {
        if case .encrypted(_, let cipher) = content { cipher } else { .current }
    }

    /// Whether the pages of both are of one form, so that each can be copied as it is.
    func hasPages(of other: DatabaseForm) -> Bool {
        switch (content, other.content) {
        case (.encrypted(_, let cipher), .encrypted(_, let otherCipher)):
            cipher.pageSize == otherCipher.pageSize
                && cipher.reservedCount == otherCipher.reservedCount
        case (.plaintext(let pageSize), .plaintext(let otherSize)): pageSize == otherSize
        default: false
        }
    }

    /// The form with another key.
    ///
    /// - Parameter path: The database, for the message.
    package func with(_ key: DatabaseKey?, of path: String) throws -> DatabaseForm {
        guard let key else { return self }
        guard isEncrypted else { throw EncryptedDatabaseError.plaintext(path: path) }
        return .encrypted(key, cipher: cipher)
    }
}
