import Foundation
import MigrationKitCommon

/// libcrypto doesn't compute what SQLCipher's format asks for.
package enum LibCryptoError: Error {
    case refused
}

extension LibCryptoError: LocalizedError {
    /// What is wrong, in one line.
    package var errorDescription: String? {
        "libcrypto refuses a computation that SQLCipher's format needs"
    }

    /// What to do about it. FIPS 140 demands at least 1,000 iterations of PBKDF2, where SQLCipher's format
    /// has 2 for the key of the HMACs. <https://docs.openssl.org/3.0/man7/EVP_KDF-PBKDF2/>
    package var recoverySuggestion: String? {
        """
        Check whether OpenSSL is restricted, for example to FIPS algorithms, by openssl.cnf or the kernel, \
        and allow it PBKDF2 with few iterations, AES and HMAC.
        """
    }
}

extension LibCryptoError: CodedError {
    /// The error's code for programs, and its exit status.
    package var code: ErrorCode { ErrorCode("noDerivation", .unavailable) }
}
