import Foundation
import MigrationKitKeys
import MigrationKit
import MigrationKitCommon
import MigrationKitPages

/// Finds out which of many keys opens a file, and with which settings.
///
/// Some pages are read once. A raw key takes an HMAC for each of them. A passphrase takes a derivation for
/// each of the given settings and those of SQLCipher 4, 3, 2 and 1: a quarter of a second on one core.
package struct KeySearch: Sendable {
    /// The numbers of keys that were tried, and of all.
    package struct Progress: Sendable {
        package let tried: Int
        package let total: Int
    }

    package struct Options: OperationOptions {
        package var cancellation: Cancellation?
        package var observer: (@Sendable (Progress) -> Void)?
        package var timeout: TimeInterval { 0 }

        package init() {}
    }

    /// A key that opens the file.
    package struct Match: Sendable {
        /// The key's place in the list of candidates.
        package let index: Int
        package let key: DatabaseKey
        package let cipher: CipherSettings
    }

    private let evidence: KeyTrial.Evidence
    private let settings: [CipherSettings]
    private let path: String

    /// - Parameters:
    ///   - path: The file.
    ///   - cipher: The settings that are tried first.
    /// - Throws: ``EncryptedDatabaseError`` if the file isn't there, isn't encrypted, or can't be
    ///   read.
    package init(_ path: String, cipher: CipherSettings = .current) throws {
        try EncryptedDatabase.check(path, is: .encrypted, cipher: cipher)
        self.path = path
        settings = cipher.candidates
        evidence = try KeyTrial.Evidence(DatabaseFile(path).look())
    }

    /// The settings with which a key opens the file; `nil` if it doesn't.
    package func settings(of key: DatabaseKey) throws -> CipherSettings? {
        try fit(of: key, among: settings)?.cipher
    }

    /// Tries all keys: the raw ones first, which takes milliseconds, then each settings with all
    /// passphrases.
    ///
    /// - Parameter candidates: The forms of each candidate: text may be a passphrase or the digits
    ///   of a raw key.
    /// - Returns: The first match; `nil` if there is none.
    /// - Throws: A `CancellationError`; ``EncryptedDatabaseError``.
    package func first(of candidates: [[DatabaseKey]], options: Options = Options()) throws
        -> Match?
    {
        let keys = candidates.enumerated().flatMap { index, keys in keys.map { (index, $0) } }
        let raw = keys.filter { $0.1.form == .rawKey }
        let passphrases = keys.filter { $0.1.form == .passphrase }
        let trials =
            [raw, passphrases].flatMap { keys in
                settings.flatMap { cipher in
                    keys.map { Match(index: $0.0, key: $0.1, cipher: cipher) }
                }
            }
        let found = Locked<Match?>(nil)
        let operation = options.operation
        try WorkerThreads.run(
            trials.count,
            threadCount: ProcessInfo.processInfo.activeProcessorCount,
            watch: { done in
                try operation.checkCancellation()
                operation.report(Progress(tried: done, total: trials.count))
            },
            make: {
                { part in
                    let trial = trials[part]
                    guard found.withLock({ $0 }) == nil,
                        try fit(of: trial.key, among: [trial.cipher]) != nil
                    else { return }
                    found.withLock { $0 = $0 ?? trial }
                }
            }
        )
        return found.withLock { $0 }
    }

    private func fit(of key: DatabaseKey, among settings: [CipherSettings]) throws -> KeyTrial.Fit?
    {
        let fit = try KeyTrial(evidence).verdict(key, among: settings).fit
        guard let fit, fit.isOfJournal else { return fit }
        // It may be another file's.
        let look = try DatabaseFile(path).look()
        return try JournalOwnership(look, key: fit.key, cipher: fit.cipher).finding() == nil
            ? fit : KeyTrial(evidence.withoutRecovered).verdict(key, among: settings).fit
    }
}
