import Foundation
import MigrationKitKeys
import MigrationKitCommon

/// The keys that a database has got since its key store last wrote what it acknowledged, each sealed
/// under the one before it. So whichever of its keys the store still has, it leads to the newest.
///
/// They are in a file beside the database, as text: on the first line which run of the key store's
/// program got the last key, and on each other one a ``RecoveryContainer`` in Base64, whose
/// passphrase is the key before it, as hexadecimal digits.
struct SealedKeys {
    /// What follows the database's name in the file's.
    static let suffix = ReservedNameError.sealedKeysSuffix

    /// The run of the program that may still lose the last key.
    var run: String

    private let database: DatabaseFile
    private let path: String
    private var lines: [String]

    /// None yet.
    init(beside database: DatabaseFile, run: String) {
        self.database = database
        path = database.companionPath(Self.suffix)
        self.run = run
        lines = []
    }

    /// Returns `nil` if the database has no such file, or it is something else.
    ///
    /// - Throws: ``EncryptedDatabaseError`` if it can't be read.
    init?(beside database: DatabaseFile) throws {
        self.database = database
        path = database.companionPath(Self.suffix)
        guard let content = try database.companion(Self.suffix) else { return nil }
        let text = String(decoding: content, as: UTF8.self)
        lines = text.split(separator: "\n").map(String.init)
        guard lines.count > 1, lines[1...].allSatisfy({ Data(base64Encoded: $0) != nil }) else {
            return nil
        }
        run = lines.removeFirst()
    }

    /// Whether the database has such a file.
    static func exist(beside database: DatabaseFile) -> Bool {
        var status = stat()
        return lstat(database.companionPath(suffix), &status) == 0
    }

    // MARK: - Keys

    /// Adds the key that follows another one.
    ///
    /// - Throws: ``RecoveryCopyError``.
    mutating func add(_ new: DatabaseKey, under old: DatabaseKey) throws {
        let container = try RecoveryContainer.seal(
            new,
            named: "",
            with: old.hexadecimal(),
            iterations: Self.iterations(for: old)
        )
        lines.append(Data(container).base64EncodedString())
    }

    /// Takes back what was added last.
    mutating func removeLast() {
        lines.removeLast()
    }

    private static func iterations(for key: DatabaseKey) -> Int32 {
        key.form == .rawKey ? 1 : RecoveryContainer.iterations
    }

    /// The keys that others lead to. Others may have written the file: that it takes long to try all
    /// lines doesn't help them.
    func keys(from known: [DatabaseKey]) -> [DatabaseKey] {
        var keys: [DatabaseKey] = []
        for line in lines.suffix(32) {
            guard let container = Data(base64Encoded: line) else { continue }
            let sealed = container.withUnsafeBytes(Secret.init(copying:))
            let opened = (known + keys).lazy.compactMap {
                try? RecoveryContainer.open(
                    sealed,
                    with: $0.hexadecimal(),
                    named: path,
                    mostIterations: Self.iterations(for: $0)
                )
            }.first
            if let opened { keys.append(opened) }
        }
        return keys
    }

    // MARK: - The File

    /// Writes the file, and returns when it is on the disk. Without keys there is none. The caller
    /// holds the database's lock.
    ///
    /// - Throws: A `NewFileError`.
    func write() throws {
        guard !lines.isEmpty else { return remove() }
        let text = ([run] + lines).joined(separator: "\n") + "\n"
        try database.writeCompanion(Self.suffix, Data(text.utf8), by: database.newFiles)
    }

    func remove() {
        unlink(path)
    }
}
