import GRDB
import MigrationKit

/// The texts of a schema's objects. If two of them are equal, so are the schemas.
package struct SchemaTexts: Equatable {
    private let texts: [[String]]

    package var isEmpty: Bool { texts.isEmpty }

    package init(_ db: Database) throws {
        texts = try GRDBSchemaSnapshotProvider.objects(of: db).map {
            [$0["type"], $0["name"], $0["sql"]]
        }
    }

    /// A hash of the texts and of the steps that gave them; `nil` if a step has no checksum, so
    /// that it may have been changed since.
    func fingerprint(of steps: some Sequence<MigrationStep<Database>>) -> String? {
        // The seed is the same everywhere, since databases keep the hash.
        var hash = SipHash(seed: (0, 0))
        for text in texts.joined() { hash.add(text) }
        for step in steps {
            guard let checksum = step.checksum else { return nil }
            hash.add(step.identifier)
            hash.add(checksum)
        }
        let (one, two) = hash.finish()
        return [one, two].map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
