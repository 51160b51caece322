import Foundation
import MigrationKitKeys
import TestSupport

/// A command, the files that it is given, and what may be found after a power cut.
package struct Scenario: Sendable {
    /// A way to open a database.
    package struct Opening: Sendable {
        let label: String
        /// The name of the key's file; `nil`: it is in the clear.
        let key: String?
        var cipherVersion: Int?

        static let key = Opening(label: "key", key: "password")
        static let newKey = Opening(label: "new key", key: "new-password")
        static let clear = Opening(label: "clear", key: nil)
    }

    /// A file whose content is looked at.
    package struct Watched: Sendable {
        package enum Kind: Sendable {
            case database
            /// A database that is opened with the key in the key store.
            case store
            case text
        }

        let name: String
        var kind = Kind.database
        var openings: [Opening] = [.key]
        /// Whether the command makes it: the next run removes what this one left beside it.
        var isNew = false

        static let store = Watched(name: Place.databaseName)
    }

    package let name: String
    /// What is run: the tool, or this package's own probe.
    var program = "migrationkit-cli"
    let arguments: @Sendable (Place) -> [String]
    var watched: [Watched] = [.store]
    /// Names that don't matter.
    var others: Set<String> = []
    /// How many contents there are, from the one before to the one after.
    package let versionCount: Int
    /// The folder that is watched; the database's unless said otherwise.
    var prepare: @Sendable (Place) throws -> Void
    /// Whether a run after a cut must come to the same end.
    var repeats = true

    /// Whether the key store may lose whatever it acknowledged in the run: it writes later.
    var losesKeys = false
    /// Whether the commits in the write-ahead log were not on the disk when the run began: a program
    /// that writes with `synchronous = NORMAL` doesn't wait for that.
    var hasUnsynchronizedLog = false
    /// Whether a journal was removed before the run, and its folder not synchronized: that is how a
    /// commit with `synchronous = FULL` ends. It is at the place's ``Place/removedJournal``.
    var hasRemovedJournal = false

    /// Prepares the files, runs the command, and reads what it did.
    ///
    /// - Parameter stacks: Whether the command runs once more, to see which functions ask for the
    ///   synchronizations.
    package func record(in place: Place, stacks: Bool = false) throws {
        try prepare(place)
        if !FileManager.default.fileExists(atPath: place.keyStore) {
            try Data().write(to: URL(fileURLWithPath: place.keyStore))
        }
        try Place.copy(place.disk, to: place.before)
        try Data(place.read("keys")).write(to: URL(fileURLWithPath: place.path + "/keys-before"))
        try Recording.trace(
            [builtExecutable(program)] + arguments(place),
            to: place.trace,
            environment: Self.environment
        )
        try recording(in: place).check(after: Place.files(in: place.disk))
        guard stacks else { return }
        try Place.fill(place.disk, Place.files(in: place.before))
        try Data(place.read("keys-before")).write(to: URL(fileURLWithPath: place.keyStore))
        try Recording.trace(
            [builtExecutable(program)] + arguments(place),
            to: place.syncTrace,
            onlySyncs: true,
            environment: Self.environment
        )
    }

    /// What was recorded before.
    package func recording(in place: Place) throws -> Recording {
        try Recording(
            trace: place.read("trace"),
            syncTrace: try? place.read("trace-syncs"),
            before: Place.files(in: place.before),
            root: place.disk,
            keys: (place.keyStore, place.read("keys-before")),
            pending: hasUnsynchronizedLog
                ? .log(Place.databaseName + "-wal")
                : hasRemovedJournal
                    ? .removed(Place.databaseName + "-journal", place.read("removed-journal")) : nil
        )
    }

    static var environment: [String: String] {
        ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"]
    }
}

extension Place {
    static func copy(_ source: String, to target: String) throws {
        if FileManager.default.fileExists(atPath: target) {
            try FileManager.default.removeItem(atPath: target)
        }
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
        try fill(target, files(in: source))
    }
}
