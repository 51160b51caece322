import Foundation
import GRDB
import MigrationKitSQLCipher

extension CommandContext {
    /// The path of a database that 'migrate' would create. No key is asked for.
    ///
    /// - Returns: `nil` if there is a file, if it can't be created there, or if the host opens a database of its own choice.
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
    /// An empty database in memory, of which nothing reaches the disk.
    static func standingForNewDatabase() throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.prepareDatabase { $0.add(function: .uuid) }
        return try DatabaseQueue(configuration: configuration)
    }
}

extension OpenStore {
    /// Says that the database is still to be created, so that a mistyped path is seen.
    func tellIsNew(to context: CommandContext) {
        guard isNew, let path else { return }
        context.errorOutput(
            "note: there is no database \(path.printable) yet; 'migrate' creates it"
        )
    }
}
