import Foundation
import MigrationKitKeys
import TestSupport

/// The folder in which a scenario is prepared and recorded, and from which it can be judged again.
///
/// `disk` is the folder that is watched; `before` and `after` are copies of it.
package struct Place: Sendable {
    package let path: String

    /// The folder that is watched.
    package var disk: String { path + "/disk" }
    package var migrations: String { path + "/migrations" }
    package var database: String { disk + "/" + Self.databaseName }
    /// The file that stands for the key store.
    package var keyStore: String { path + "/keys" }
    package var trace: String { path + "/trace" }
    /// The functions that ask for synchronizations.
    package var syncTrace: String { path + "/trace-syncs" }
    /// A rollback journal that was removed before the run.
    package var removedJournal: String { path + "/removed-journal" }
    package var before: String { path + "/before" }

    package static let databaseName = "store.db"
    package static let service = "org.example.Power"
    package static let account = "main"

    package init(_ path: String) {
        self.path = path
    }

    /// Makes the folder anew, with two keys and no database.
    package static func made(at path: String) throws -> Place {
        let manager = FileManager.default
        let place = Place(path)
        if manager.fileExists(atPath: path) { try manager.removeItem(atPath: path) }
        for folder in [place.disk, place.migrations] {
            try manager.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }
        for name in ["password", "new-password"] {
            var generator = SystemRandomNumberGenerator()
            let digits = (0..<64).map { _ in
                String(Int.random(in: 0..<16, using: &generator), radix: 16)
            }
            try place.write(name, digits.joined())
        }
        return place
    }

    package func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path + "/" + name))
        chmod(path + "/" + name, 0o600)
    }

    package func read(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: path + "/" + name)))
    }

    package func text(_ name: String) throws -> String {
        String(decoding: try read(name), as: UTF8.self)
    }

    package func key(_ name: String = "password") throws -> DatabaseKey {
        try .rawKey(hexadecimal: Secret(utf8: text(name)))
    }

    /// The files of a folder and of the folders in it, whose names end with `/`, without indexes of
    /// write-ahead logs.
    package static func files(in folder: String) throws -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder)
        where !name.hasSuffix("-shm") {
            var isFolder: ObjCBool = false
            let path = folder + "/" + name
            if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder),
                isFolder.boolValue
            {
                files[name + "/"] = []
                for (inner, bytes) in try Self.files(in: path) { files[name + "/" + inner] = bytes }
            } else {
                files[name] = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
            }
        }
        return files
    }

    /// Makes a folder hold these files and no other.
    package static func fill(_ folder: String, _ files: [String: [UInt8]]) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: folder)
        where files[name] == nil {
            try FileManager.default.removeItem(atPath: folder + "/" + name)
        }
        for (name, bytes) in files.sorted(by: { $0.key < $1.key }) {
            if name.hasSuffix("/") {
                mkdir(folder + "/" + name, 0o700)
                continue
            }
            let descriptor = open(
                folder + "/" + name,
                O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                0o600
            )
            defer { close(descriptor) }
            guard Foundation.write(descriptor, bytes, bytes.count) == bytes.count else {
                throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
            }
        }
    }
}
