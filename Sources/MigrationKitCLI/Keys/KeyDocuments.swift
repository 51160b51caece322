import Foundation
import KeyStore
import MigrationKitSQLCipher

/// An item in JSON documents. Nothing in it is secret.
struct KeyDescription: Encodable {
    let service: String
    let account: String?
    let label: String
    let collection: String
    let form: String?
    let created: String?
    let modified: String?
    let locked: Bool
    let attributes: [String: String]

    init(_ item: KeyItem) {
        service = item.service
        account = item.account
        label = item.label
        collection = item.collection
        form = item.form?.rawValue
        created = item.created?.formatted(.iso8601)
        modified = item.modified?.formatted(.iso8601)
        locked = item.isLocked
        attributes = item.attributes
    }
}

/// What `key show --json` prints.
struct KeyItemDocument: Encodable {
    let schemaVersion = JSON.schemaVersion
    let item: KeyDescription
    /// The encoding of the secret, if it is shown: `utf8`, or `hexadecimal` for bytes that aren't
    /// text.
    var encoding: String?
    var secret: String?
}

/// What `key generate --json` and `key set --json` print.
struct StoredKeyDocument: Encodable {
    let schemaVersion = JSON.schemaVersion
    let item: KeyDescription
    let replaced: Bool
    let source: String?

    init(item: KeyItem, replaced: Bool, source: String? = nil) {
        self.item = KeyDescription(item)
        self.replaced = replaced
        self.source = source
    }
}

/// What `key delete --json` prints.
struct DeletedKeyDocument: Encodable {
    let schemaVersion = JSON.schemaVersion
    let deleted: KeyDescription
}

/// What `key list --json` prints.
struct KeyListDocument: Encodable {
    let schemaVersion = JSON.schemaVersion
    let items: [KeyDescription]
}

/// What `key rotate --json` prints.
struct RotatedKeyDocument: Encodable {
    let schemaVersion = JSON.schemaVersion
    let database: String
    let item: KeyDescription
    /// The item in which the old key is kept.
    let kept: KeyDescription?
    let original: String?
    let tables: Int
    let rows: Int
    let bytesBefore: Int
    let bytesAfter: Int
    let seconds: Double
    let notes: [String]
    let verified = true

    init(database: String, report: KeyRotationReport, notes: [ConversionNote]) {
        self.database = database
        item = KeyDescription(report.item)
        kept = report.keptItem.map(KeyDescription.init)
        original = report.conversion.originalPath
        tables = report.conversion.tableCount
        rows = report.conversion.rowCount
        bytesBefore = report.conversion.bytesBefore
        bytesAfter = report.conversion.bytesAfter
        seconds = report.conversion.seconds
        self.notes = notes.map(\.line)
    }
}
