import Foundation
import MigrationKitKeys
import MigrationKitCommon

/// Where a database's key is kept: what a person needs to know if it isn't found one day, because another
/// program answers, or the keyring was made anew.
///
/// It is in a file `NAME-key-record` beside the database, as JSON. An opening that isn't read-only writes it,
/// if the key store has a provider. Nothing in it is secret, and nothing depends on it.
public struct KeyRecord: Codable, Equatable, Sendable {
    /// The program that keeps the key, such as `GNOME Keyring`; `nil` if this library doesn't know it.
    public let provider: String?
    /// The collection that the item is in.
    public let collection: String
    /// The item's service.
    public let service: String
    /// The item's account; `nil` if it has none.
    public let account: String?
    /// When the item was last changed, if the key store knows.
    public let stored: Date?

    /// The record beside a database; `nil` if there is none that can be read.
    ///
    /// - Parameter path: The database.
    public init?(besideDatabase path: String) {
        self.init(beside: DatabaseFile(path))
    }

    init?(beside file: DatabaseFile) {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        guard let content = try? file.companion(Self.suffix),
            let record = try? decoder.decode(Self.self, from: content), record.isPlain
        else { return nil }
        self = record
    }

    private init(of item: KeyItem, keptBy provider: KeyStoreProvider) {
        self.provider = provider.name
        collection = item.collection
        service = item.service
        account = item.account
        // A file has it in whole seconds.
        let seconds = item.modified?.timeIntervalSince1970.rounded()
        stored = seconds.map(Date.init(timeIntervalSince1970:))
    }

    /// Whether it can be shown: somebody else may have written the file.
    private var isPlain: Bool {
        [provider, collection, service, account].compactMap { $0 }.allSatisfy { text in
            text.unicodeScalars.allSatisfy { !CharacterSet.controlCharacters.contains($0) }
        }
    }

    private static let suffix = ReservedNameError.keyRecordSuffix

    /// Records which item opens a database. If that fails, for example in a folder that can't be written,
    /// nothing else does.
    static func keep(_ item: KeyItem, in keyStore: any KeyStore, beside file: DatabaseFile) {
        let recorded = KeyRecord(beside: file)
        func matches(_ provider: KeyStoreProvider) -> Bool {
            recorded == KeyRecord(of: item, keptBy: provider)
        }
        // The program is asked only if the item isn't the recorded one.
        let known = KeyStoreProvider(name: recorded?.provider, run: "", hasWritten: true)
        guard !matches(known), let provider = try? keyStore.provider(), !matches(provider) else {
            return
        }
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let content = try? encoder.encode(KeyRecord(of: item, keptBy: provider)) else {
            return
        }
        let files = files(beside: file)
        files.removeLeftovers()
        try? file.writeCompanion(suffix, content + Data("\n".utf8), by: files)
    }

    private static func files(beside file: DatabaseFile) -> NewFiles {
        NewFiles(.writing, for: file.companionPath(suffix))
    }

    /// Removes what a process has left that was killed while it wrote the record.
    static func removeLeftovers(beside file: DatabaseFile) {
        files(beside: file).removeLeftovers()
    }

    /// What is known of the key, in one sentence without a full stop.
    ///
    /// - Parameter provider: The program that answers now; `nil` if it isn't known.
    package func sentence(now provider: String?) -> String {
        let day = stored.map { " on " + $0.formatted(.iso8601.year().month().day()) } ?? ""
        let name = self.provider ?? "a program that isn't known"
        let kept = "\(name) stored this key in \"\(collection)\"\(day)"
        guard let provider, provider != self.provider else { return kept }
        return "\(kept); \(provider) answers now"
    }
}
