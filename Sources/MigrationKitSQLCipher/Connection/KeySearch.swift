import Foundation
import MigrationKitKeys
import MigrationKit
import MigrationKitCommon
import MigrationKitPages

/// Finds out which of many keys opens a file, and with which settings.
///
/// The first pages are read once. A raw key takes one HMAC. A passphrase takes a derivation for each
/// of the given settings and those of SQLCipher 4, 3, 2 and 1: a quarter of a second on one core.
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

    /// The beginning of the file: three pages of the largest size.
    private let beginning: [UInt8]
    /// The first page that SQLite takes from a journal when it next opens the file.
    private let recovered: [UInt8]?
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
        let file = DatabaseFile(path)
        settings = cipher.candidates
        let count = 3 * (settings.map(\.pageSize).max() ?? 0)
        do {
            let connection = try CipherConnection(immutable: file.absolutePath)
            beginning = try connection.bytes(at: 0, count: min(connection.fileSize(), count))
        } catch {
            throw FileInspection.cannotRead(file, error)
        }
        if case .firstPage(let page) = try Recovery(by: file.look()),
            page.starts(with: beginning.prefix(CipherSettings.saltCount))
        {
            recovered = page
        } else {
            recovered = nil
        }
    }

    /// The settings with which a key opens the file; `nil` if it doesn't.
    package func settings(of key: DatabaseKey) throws -> CipherSettings? {
        try settings.first { try opens(key, $0) }
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
                    guard found.withLock({ $0 }) == nil, try opens(trial.key, trial.cipher) else {
                        return
                    }
                    found.withLock { $0 = $0 ?? trial }
                }
            }
        )
        return found.withLock { $0 }
    }

    /// Whether the key is that of one of the first pages: the first itself may be damaged.
    private func opens(_ key: DatabaseKey, _ cipher: CipherSettings) throws -> Bool {
        // With a plaintext header, only a key that contains the salt can be tried without it.
        guard let salt = try? cipher.salt(ofFile: beginning, key: key) else { return false }
        let key = try key.derived(salt: salt, cipher: cipher)
        let size = cipher.pageSize
        guard let authentication = try PageAuthentication(key: key, salt: salt, cipher: cipher)
        else {
            let first = beginning.count >= size ? Array(beginning[..<size]) : nil
            return [first, recovered].compactMap { $0 }.contains {
                DatabaseHeader(decrypting: $0, key: key, cipher: cipher) != nil
            }
        }
        if let recovered, authentication.isAuthentic(recovered, number: 1) {
            // It may be another file's.
            return try JournalOwnership(DatabaseFile(path).look(), key: key, cipher: cipher)
                .finding() == nil
        }
        return (1...3).contains { number in
            let end = number * size
            return end <= beginning.count
                && authentication.isAuthentic(Array(beginning[(end - size)..<end]), number: number)
        }
    }
}
