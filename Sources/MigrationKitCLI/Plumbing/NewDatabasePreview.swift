import Foundation
import GRDB
import MigrationKitSQLCipher

extension CommandContext {
    /// The path of a database that 'migrate' would create. The key isn't needed.
    ///
    /// - Returns: `nil` if the file exists or can't be created, or if the host chooses the database
    ///   itself.
    func pathOfNewDatabase(
        _ options: KeyedDatabaseOptions,
        _ encryption: EncryptionOptions
    ) throws -> String? {
        guard case .folder = host.migrations else { return nil }
        let resolved = try options.resolved(
            in: self,
            isPlaintext: encryption.noEncryption,
            asksForKey: false
        )
        guard let path = resolved.dbPath else { return nil }
        var status = stat()
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        guard stat(path, &status) != 0, errno == ENOENT, stat(folder, &status) == 0 else {
            return nil
        }
        return path
    }
}

extension DatabaseQueue {
    /// An empty database in memory. Nothing of it reaches the disk.
    static func standingForNewDatabase() throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.prepareDatabase { $0.add(function: .uuid) }
        return try DatabaseQueue(configuration: configuration)
    }
}

extension OpenStore {
    /// Prints that the database doesn't exist yet, so that a mistyped path is noticed.
    func tellIsNew(to context: CommandContext) {
        guard isNew, let path else { return }
        context.errorOutput(
            "note: there is no database \(path.printable) yet; 'migrate' creates it"
        )
    }
}
