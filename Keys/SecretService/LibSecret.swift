import CLibSecret
import KeyStore

/// The library that talks to the Secret Service.
enum LibSecret {
    private static let failure: String? = clibsecret_load().map { String(cString: $0) }

    /// Loads the library, unless that is done. It comes before everything else of `CLibSecret`.
    ///
    /// - Throws: ``KeyStoreError/noLibrary(reason:)``.
    static func load() throws {
        if let failure { throw KeyStoreError.noLibrary(reason: failure) }
    }
}
