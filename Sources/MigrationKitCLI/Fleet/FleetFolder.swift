import Foundation
import MigrationKitCommon
import MigrationKitFleet

/// A folder with files of stores. Each has the store's name, and its database's extension.
///
/// Every user may be able to write to the folder. So below it no link is followed, and no folder is
/// used that another user may have put there.
struct FleetFolder {
    let path: String

    /// The path of a store's file, in folders that are made if they are missing.
    ///
    /// - Throws: ``MigrationCLIError/cannotWrite(path:reason:)``; `unusableStoreName`.
    func makePlace(of store: FleetStore) throws -> String {
        let place = try Place(of: store)
        return try "\(makeFolder(of: place))/\(place.file())"
    }

    /// The same, but if the name is taken, it gets a number: nothing that an earlier run has put there
    /// is replaced.
    ///
    /// - Throws: As ``makePlace(of:)``.
    func makeFreePlace(of store: FleetStore) throws -> String {
        let place = try Place(of: store)
        let folder = try makeFolder(of: place)
        var (path, number) = ("\(folder)/\(place.file())", 1)
        var status = stat()
        while lstat(path, &status) == 0 {
            number += 1
            path = "\(folder)/\(place.file(number))"
        }
        return path
    }

    /// The path of a store's file, which is there.
    ///
    /// - Throws: `noCopy` if it isn't, or isn't a regular file; `unusableStoreName`.
    func place(of store: FleetStore) throws -> String {
        let place = try Place(of: store)
        let path = try folder(of: place, makes: false, CommandError.noCopy) + "/\(place.file())"
        var status = stat()
        guard lstat(path, &status) == 0 else {
            throw CommandError.noCopy(path: path, reason: systemReason(errno))
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw CommandError.noCopy(path: path, reason: "it is not a regular file")
        }
        return path
    }

    /// Throws unless the folder is there.
    ///
    /// - Throws: `noCopy`.
    func check() throws {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw CommandError.noCopy(path: path, reason: systemReason(errno))
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw CommandError.noCopy(path: path, reason: "it is not a folder")
        }
    }

    // MARK: -

    /// A file relative to the folder.
    private struct Place {
        let folders: ArraySlice<String>
        private let name: String
        private let ending: String

        init(of store: FleetStore) throws {
            let parts = store.name.split(separator: "/").map(String.init)
            guard let last = parts.last, !parts.contains("."), !parts.contains("..") else {
                throw CommandError.unusableName(store.name)
            }
            folders = parts.dropLast()
            name = last
            let ending = URL(fileURLWithPath: store.path).pathExtension
            self.ending = ending.isEmpty ? "" : ".\(ending)"
        }

        func file(_ number: Int = 1) -> String {
            name + (number == 1 ? "" : "-\(number)") + ending
        }
    }

    private func makeFolder(of place: Place) throws -> String {
        if access(path, F_OK) != 0 {
            do {
                try FileManager.default.createDirectory(
                    atPath: path,
                    withIntermediateDirectories: true,
                    attributes: [.posixPermissions: 0o700]
                )
            } catch {
                throw MigrationCLIError.cannotWrite(path: path, reason: error.localizedDescription)
            }
            try Self.synchronizeName(of: path)
        }
        return try folder(of: place, makes: true) {
            MigrationCLIError.cannotWrite(path: $0, reason: $1)
        }
    }

    /// A file is on the disk only if the folder's own name is.
    private static func synchronizeName(of folder: String) throws {
        do {
            try NewFiles(.writing, for: folder).synchronize()
        } catch {
            throw MigrationCLIError.cannotWrite(path: folder, reason: systemReason(error.code))
        }
    }

    private func folder(
        of place: Place,
        makes: Bool,
        _ failure: (_ path: String, _ reason: String) -> any Error
    ) throws -> String {
        var parent = stat()
        guard stat(path, &parent) == 0 else { throw failure(path, systemReason(errno)) }
        guard parent.st_mode & S_IFMT == S_IFDIR else { throw failure(path, "it is not a folder") }
        let named = parent
        var folder = path
        for part in place.folders {
            folder += "/\(part)"
            if makes {
                if mkdir(folder, 0o700) == 0 {
                    try Self.synchronizeName(of: folder)
                } else if errno != EEXIST {
                    throw failure(folder, systemReason(errno))
                }
            }
            var status = stat()
            guard lstat(folder, &status) == 0 else { throw failure(folder, systemReason(errno)) }
            guard status.st_mode & S_IFMT == S_IFDIR else {
                throw failure(folder, "it is not a folder")
            }
            let isOfAnother = ![geteuid(), named.st_uid, 0].contains(status.st_uid)
            guard !isOfAnother || parent.st_mode & S_IWOTH == 0 else {
                throw failure(folder, "it is another user's")
            }
            parent = status
        }
        return folder
    }
}

extension CommandError {
    /// A store's name can't be that of a file in a folder.
    fileprivate static func unusableName(_ name: String) -> CommandError {
        CommandError(
            ErrorCode("unusableStoreName", .dataError),
            "the store's name '\(name)' can't be that of a copy",
            "Give the store another name with \"account\" in a list of JSON lines."
        )
    }

    /// A folder of copies has none of a store.
    fileprivate static func noCopy(path: String, reason: String) -> CommandError {
        CommandError(
            ErrorCode("noCopy", .noInput),
            "there is no copy to restore at \(path): \(reason)",
            """
            A copy has its store's name, which 'fleet backup' took from the folder of --name-from. Name \
            the same folder.
            """
        )
    }
}
