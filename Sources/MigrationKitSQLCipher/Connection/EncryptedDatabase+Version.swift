import MigrationKitPages

extension EncryptedDatabase {
    /// The version of the SQLCipher that this program is linked with, such as `4.6.1 community`;
    /// `nil` if there is none.
    public static var cipherVersion: String? {
        guard let connection = try? CipherConnection(immutable: "/dev/null") else { return nil }
        return connection.column("PRAGMA cipher_version", limit: 1).values.first
    }
}
