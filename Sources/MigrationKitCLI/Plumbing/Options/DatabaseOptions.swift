import ArgumentParser
import MigrationKit
import MigrationKitKeys
import MigrationKitSQLCipher

/// The option of commands that also work on a plaintext database.
struct EncryptionOptions: ParsableArguments {
    @Flag(help: "The database is not encrypted.")
    var noEncryption = false
}

/// A salt as hexadecimal digits.
struct CipherSalt: RawRepresentable, ExpressibleByArgument {
    let rawValue: String

    init?(rawValue: String) {
        guard rawValue.utf8.count == 32, rawValue.allSatisfy({ $0.isASCII && $0.isHexDigit })
        else { return nil }
        self.rawValue = rawValue
    }

    var bytes: [UInt8] {
        let digits = rawValue.compactMap(\.hexDigitValue).map { UInt8($0) }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}

// ArgumentParser would take the names from a key path, which costs every command some time.

extension CipherSettings.KDFAlgorithm: ExpressibleByArgument {
    /// The names on the command line.
    public static var allValueStrings: [String] { allCases.map { $0.rawValue } }
}

extension CipherSettings.HMACAlgorithm: ExpressibleByArgument {
    /// The names on the command line.
    public static var allValueStrings: [String] { allCases.map { $0.rawValue } }
}

extension KeySource {
    var isCredential: Bool {
        if case .credentialsFile = self { true } else { false }
    }
}

/// Throws if the value of an option for a file is empty.
func checkNotEmpty(_ path: String?, _ option: String) throws {
    if path?.isEmpty == true { throw ValidationError("The path of \(option) is empty.") }
}
