import CLibSecret
import KeyStore

/// The libsecret library.
enum LibSecret {
    private static let failure: String? = clibsecret_load().map { String(cString: $0) }

    /// Loads the library, unless it is loaded. Call it before any other function of `CLibSecret`.
    ///
    /// - Throws: ``KeyStoreError/noLibrary(reason:)``.
    static func load() throws {
        if let failure { throw KeyStoreError.noLibrary(reason: failure) }
    }
}
