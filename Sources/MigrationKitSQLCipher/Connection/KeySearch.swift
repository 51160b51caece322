import Foundation
import MigrationKitKeys
import MigrationKit
import MigrationKitCommon
import MigrationKitPages

/// Finds out which of many keys opens a file, and with which settings.
///
/// Some pages are read once. A raw key takes an HMAC for each of them. A passphrase takes a derivation for
/// each of the given settings and those of SQLCipher 4, 3, 2 and 1, a quarter of a second on one core; and
/// for the settings that programs have chosen beside these, ten seconds.
package struct KeySearch: Sendable {
    /// Which derivations of a passphrase are tried. Page sizes and HMACs cost little, so all are.
    package enum Reach: Sendable {
        /// Those of the given settings and of SQLCipher's versions; all raw keys.
        case usual
        /// The others.
        case unusual
    }

    /// The numbers of tries that were made, and of all.
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
    private let cipher: CipherSettings
    private let path: String

    /// - Parameters:
    ///   - path: The file.
    ///   - cipher: The settings that are tried first.
    /// - Throws: ``EncryptedDatabaseError`` if the file isn't there, isn't encrypted, or can't be
    ///   read.
    package init(_ path: String, cipher: CipherSettings = .current) throws {
        try EncryptedDatabase.check(path, is: .encrypted, cipher: cipher)
        self.path = path
        self.cipher = cipher
        evidence = try KeyTrial.Evidence(DatabaseFile(path).look())
    }

    /// The settings with which a key opens the file; `nil` if it doesn't, with the usual derivations.
    package func settings(of key: DatabaseKey) throws -> CipherSettings? {
        try first(of: [[key]], .usual)?.cipher
    }

    /// Throws if the file is another library's, which no settings of SQLCipher open.
    ///
    /// - Throws: ``EncryptedDatabaseError/multipleCiphers(path:ciphers:isKeyRight:)``.
    package func checkLibrary() throws {
        if let error = EncryptedDatabaseError.multipleCiphers(evidence.start, path: path) {
            throw error
        }
    }

    /// Settings that share a derivation.
    private struct Trial {
        var usual: [CipherSettings]
        let unusual: [CipherSettings]
    }

    private func trials(_ reach: Reach, of key: DatabaseKey) -> [Trial] {
        if key.form == .rawKey {
            return reach == .unusual
                ? [] : [Trial(usual: cipher.candidates, unusual: cipher.unusual(for: key))]
        }
        var usual: [Trial] = []
        for settings in cipher.candidates {
            let derivation = settings.keyDerivation
            if let index = usual.firstIndex(where: { $0.usual[0].keyDerivation == derivation }) {
                usual[index].usual.append(settings)
            } else {
                usual.append(Trial(usual: [settings], unusual: cipher.group(derivation)))
            }
        }
        guard reach == .unusual else { return usual }
        let tried = Set(usual.map { $0.usual[0].keyDerivation })
        return cipher.unusualGroups.filter { !tried.contains($0[0].keyDerivation) }
            .map { Trial(usual: [], unusual: $0) }
    }

    /// Tries all keys: the raw ones first, which takes milliseconds, then each derivation with all
    /// passphrases.
    ///
    /// - Parameter candidates: The forms of each candidate: text may be a passphrase or the digits
    ///   of a raw key.
    /// - Returns: The first match, or a key of some pages if none opens the first one; `nil` if there is
    ///   none.
    /// - Throws: A `CancellationError`; ``EncryptedDatabaseError``.
    package func first(
        of candidates: [[DatabaseKey]],
        _ reach: Reach,
        options: Options = Options()
    ) throws -> Match? {
        let keys = candidates.enumerated().flatMap { index, keys in keys.map { (index, $0) } }
        let tries = [DatabaseKey.Form.rawKey, .passphrase].flatMap { form in
            let keys = keys.filter { $0.1.form == form }
            guard let first = keys.first else {
                return [(index: Int, key: DatabaseKey, trial: Trial)]()
            }
            return trials(reach, of: first.1).flatMap { trial in
                keys.map { (index: $0.0, key: $0.1, trial: trial) }
            }
        }
        let found = Locked<(whole: Match?, part: Match?)>((nil, nil))
        let operation = options.operation
        try WorkerThreads.run(
            tries.count,
            threadCount: ProcessInfo.processInfo.activeProcessorCount,
            watch: { done in
                try operation.checkCancellation()
                operation.report(Progress(tried: done, total: tries.count))
            },
            make: {
                { part in
                    let (index, key, trial) = tries[part]
                    guard found.withLock({ $0.whole }) == nil else { return }
                    let verdict = try verdict(of: key, trial)
                    guard let fit = verdict.fit else { return }
                    let match = Match(index: index, key: key, cipher: fit.cipher)
                    found.withLock {
                        if case .opens = verdict { $0.whole = $0.whole ?? match }
                        $0.part = $0.part ?? match
                    }
                }
            }
        )
        return found.withLock { $0.whole ?? $0.part }
    }

    private func verdict(of key: DatabaseKey, _ trial: Trial) throws -> KeyTrial.Verdict {
        func verdict(by evidence: KeyTrial.Evidence) throws -> KeyTrial.Verdict {
            try KeyTrial(evidence).verdict(key, among: trial.usual, unusual: trial.unusual)
        }
        let found = try verdict(by: evidence)
        guard let fit = found.fit, fit.isOfJournal else { return found }
        // It may be another file's.
        let look = try DatabaseFile(path).look()
        return try JournalOwnership(look, key: fit.key, cipher: fit.cipher).finding() == nil
            ? found : verdict(by: evidence.withoutRecovered)
    }
}
