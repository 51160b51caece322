import MigrationKitCommon
import MigrationKitPages
import Foundation
import GRDB

/// A database that the caller makes beside its place. It gets its place once it is whole: nobody meets
/// it before, and what fails leaves nothing.
package final class NewDatabase {
    private let place: DatabaseFile
    private let new: NewFile

    /// - Parameter path: Where the database goes. Nothing may be there, nor a journal beside it.
    /// - Throws: ``DatabaseConversionError/exists(path:)``; ``EncryptedDatabaseError`` if nothing can
    ///   be created there.
    package init(at path: String) throws {
        place = DatabaseFile(path)
        let files = NewFiles(.writing, for: place.absolutePath)
        do {
            _ = try DatabaseFile.freePlace(path)
            files.removeLeftovers()
            new = try files.name()
        } catch DatabaseConversionError.exists(let path) {
            // A run may have put it there that was killed before it was done.
            files.removeLeftovers()
            throw DatabaseConversionError.exists(path: path)
        } catch DatabaseConversionError.cannotWrite(_, let code) {
            throw place.cannotCreate(code)
        } catch let error as NewFileError {
            throw place.cannotCreate(error.code)
        }
    }

    /// The path at which the caller makes it.
    package var path: String { new.path }

    /// Whether the caller has made it there.
    ///
    /// - Throws: ``EncryptedDatabaseError`` if that can't be found out; ``DatabaseConversionError`` if the
    ///   caller has something else open.
    package var isMade: Bool {
        get throws {
            switch Found(path) {
            case .absent: return false
            case .empty, .content:
                do { try new.checkIsOpen() } catch { throw error.explained }
            case .unreadable(let error): throw error
            }
            return true
        }
    }

    /// Closes the database, and gives it its place.
    ///
    /// Its content is on the disk since the last commit, which the runner made durable. The earlier
    /// commits were synchronized as well, which a hidden file doesn't need: to spare them, the runner
    /// would have to know of such files, for a small database that is made once.
    ///
    /// - Throws: ``DatabaseConversionError``; ``EncryptedDatabaseError``.
    package func publish(_ writer: any DatabaseWriter) throws {
        // What a write-ahead log holds belongs into the file before that gets its place.
        try writer.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
        }
        try writer.close()
        do {
            try new.place(at: place.absolutePath)
        } catch {
            guard !error.isPlaced, error.code != EEXIST else { throw error.explained }
            throw place.cannotCreate(error.code)
        }
    }

    /// Removes what was made and has no place.
    package func discard() {
        new.remove()
    }
}
