import MigrationKitSQLCipher

/// Options that say how a file is encrypted.
protocol CipherOptions {
    var cipherCompatibility: Int? { get }
    var cipherPageSize: Int? { get }
    var kdfIterations: Int? { get }
    var kdfAlgorithm: CipherSettings.KDFAlgorithm? { get }
    var hmacAlgorithm: CipherSettings.HMACAlgorithm? { get }
}

extension CipherOptions {
    /// How the file is encrypted.
    ///
    /// - Throws: `CipherSettingsError` for a value out of range.
    func cipher() throws -> CipherSettings {
        try CipherSettings(
            compatibility: cipherCompatibility ?? CipherSettings.current.compatibility,
            pageSize: cipherPageSize,
            kdfIterations: kdfIterations,
            kdfAlgorithm: kdfAlgorithm,
            hmacAlgorithm: hmacAlgorithm
        )
    }
}
