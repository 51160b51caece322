import Foundation
import MigrationKitSQL

/// The search for a settings file that nobody named.
///
/// The file decides which database is changed. So it must belong to the user or to root, and nobody
/// else may write it, not even the group. Above the working folder, the same is asked of its folder,
/// except that a group may write it: a project may be shared.
struct SettingsSearch {
    /// What `~/` stands for in the file, and where the search ends.
    let home: String?

    /// The known settings.
    let keys: [SettingsKey]

    /// Whether a file that others may write is read all the same, with its ``SettingsFile/doubt``.
    var acceptsOthers = false

    /// Reads the file of the working folder, or of the nearest folder above it that has one.
    ///
    /// - Returns: `nil` if there is none.
    /// - Throws: ``SettingsFileError``; ``CommandError`` for a link that leads out of the repository. A
    ///   file that may not be used ends the search.
    func file() throws -> SettingsFile? {
        for folder in folders {
            if let file = try file(in: folder) { return file }
        }
        return nil
    }

    /// The working folder (empty), then those above it (`../`, `../../`), up to the repository's or
    /// the home folder. Outside of both, there is only the working folder: `/tmp` and the like
    /// belong to nobody's project.
    private var folders: [String] {
        let top = FolderIdentity("/")
        let home = home.flatMap(FolderIdentity.init)
        var folders = [""]
        while let last = folders.last, let folder = FolderIdentity(last + ".") {
            // A home folder "/" is that of a user who has none.
            if folder == home, folder != top { return folders }
            var status = stat()
            // As for git, another user's repository is none of ours.
            if lstat(last + ".git", &status) == 0, status.belongsToUser { return folders }
            if folder == top { break }
            folders.append(last + "../")
        }
        return [""]
    }

    /// Reads the file of one folder, if there is one.
    ///
    /// - Parameter folder: Empty for the working folder, otherwise with a slash at its end.
    func file(in folder: String) throws -> SettingsFile? {
        let path = folder + SettingsFile.defaultName
        var entry = stat()
        guard lstat(path, &entry) == 0 else {
            guard errno == ENOENT || errno == EACCES && !folder.isEmpty else {
                throw SettingsFile.failure(errno, path)
            }
            return nil
        }
        let isLink = entry.st_mode & S_IFMT == S_IFLNK
        // Doesn't wait: a pipe with this name isn't a settings file.
        let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (isLink ? 0 : O_NOFOLLOW)
        let descriptor = open(path, flags)
        guard descriptor >= 0 else {
            throw errno == ENOENT && isLink
                ? SettingsFileError.danglingLink(path: path) : SettingsFile.failure(errno, path)
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw SettingsFile.failure(errno, path) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw SettingsFileError.notAFile(path: path)
        }
        let doubt = try doubt(of: path, status, entry: entry, in: folder)
        if let doubt, !acceptsOthers { throw doubt }
        // Errors quote names of the file, and `--show-settings` its values.
        if isLink { try Repository.refuseLink(path) }
        var file = try SettingsFile.read(descriptor, path, home: home, keys: keys)
        file.doubt = doubt
        return file
    }

    /// Who else could have written a file.
    ///
    /// - Parameter entry: The link, if the file is reached by one.
    private func doubt(
        of path: String,
        _ status: stat,
        entry: stat,
        in folder: String
    ) throws -> SettingsFileError? {
        // Paths start where the link is, so it counts who made it.
        guard status.belongsToUser, entry.belongsToUser else {
            return .ofAnother(path: path)
        }
        guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
            return .writableByOthers(path: path)
        }
        guard !folder.isEmpty else { return nil }
        var place = stat()
        guard stat(folder, &place) == 0 else { throw SettingsFile.failure(errno, folder) }
        let isOwn = place.belongsToUser && place.st_mode & S_IWOTH == 0
        return isOwn ? nil : .inFolderOfAnother(path: path)
    }
}

extension CommandContext {
    /// The folder in which the settings file was found, if that is above the working folder:
    /// `../`, `../../` and so on.
    var folderAboveWithSettings: String? {
        get throws {
            guard settingsSource.config == nil, environment.nonEmpty("MIGRATIONKIT_CONFIG") == nil
            else { return nil }
            let folder = try settings()?.path.dropLast(SettingsFile.defaultName.count)
            return folder.flatMap { $0.isEmpty ? nil : String($0) }
        }
    }

    /// Throws if migrations or checks that nobody named are outside of the repository: a change that is
    /// checked may have led them there, by a settings file or a link.
    ///
    /// - Parameter content: What the folder has, as its option calls it.
    func checkPlace(ofFound content: String, _ path: String) throws {
        let variables = ["MIGRATIONKIT_CONFIG", "MIGRATIONKIT_MIGRATIONS"]
        let isNamed = (variables + ["MIGRATIONKIT_\(content.uppercased())"])
            .contains { environment.nonEmpty($0) != nil }
        guard settingsSource.config == nil, !isNamed,
            let repository = try Repository(of: folderAboveWithSettings ?? "."),
            repository.isLeft(by: path)
        else { return }
        throw SettingsFileError.folderOutside(of: content, path: path)
    }

    /// The folder of migrations that nobody named: beside the settings file that was found.
    func defaultMigrations() throws -> String {
        try (folderAboveWithSettings ?? "") + MigrationsOptions.defaultFolder
    }
}

/// What tells a folder from every other one, whatever its path.
struct FolderIdentity: Equatable {
    let device: dev_t
    let number: ino_t

    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        (device, number) = (status.st_dev, status.st_ino)
    }
}

extension stat {
    /// Whether it belongs to the user or to root.
    fileprivate var belongsToUser: Bool { st_uid == geteuid() || st_uid == 0 }
}
