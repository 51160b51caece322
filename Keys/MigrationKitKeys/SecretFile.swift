import CKeyStore
import Glibc
import MigrationKitCommon

/// Opens password files and checks them before reading.
///
/// A file is opened once, and the opened file is checked, not the path. So nobody can replace it in
/// between.
enum SecretFile {
    /// Who must own the file, and who may have access.
    enum Trust {
        /// This user or root, and nobody else.
        case ownerOnly
        /// The folder's creator has ensured that it is safe.
        case anyOwner
        /// As ``ownerOnly``, for a key that a service manager or a cluster has put into a folder: the
        /// file may be a link within that folder, and if it is root's, a group may read it, without
        /// which this user couldn't.
        /// <https://kubernetes.io/docs/concepts/configuration/secret/#using-secrets-as-files-from-a-pod>
        case mounted
    }

    static func read(_ path: String, trust: Trust, named source: KeySource) throws -> Secret {
        let descriptor = try open(trust == .mounted ? withoutInnerLinks(path) : path)
        defer { close(descriptor) }

        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw KeySourceError.unreadable(source: "\(source)", code: errno)
        }
        let kind = status.st_mode & S_IFMT
        guard kind == S_IFREG || kind == S_IFIFO else { throw KeySourceError.notAFile(path: path) }
        if trust != .anyOwner {
            guard status.st_uid == geteuid() || status.st_uid == 0 else {
                throw KeySourceError.wrongOwner(path: path, owner: status.st_uid)
            }
            let isReadByGroup = trust == .mounted && status.st_uid == 0 && geteuid() != 0
            guard status.st_mode & (isReadByGroup ? 0o037 : 0o077) == 0 else {
                throw KeySourceError.openToOthers(path: path, mode: status.st_mode & 0o7777)
            }
        }
        let size = kind == S_IFREG ? Int(status.st_size) : SecretReader.limit
        return try SecretReader.read(descriptor, expecting: size, named: source)
    }

    /// The file that a path leads to, if it is in the path's folder or one below. Otherwise the path
    /// itself, which is then refused if it is a link.
    private static func withoutInnerLinks(_ path: String) -> String {
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? "./"
        guard let file = realPath(path), let place = realPath(String(folder)),
            file.hasPrefix(place.hasSuffix("/") ? place : place + "/")
        else { return path }
        return file
    }

    /// Opens without following a link in the last component, without waiting for the other end of a
    /// pipe, and without making a terminal our controlling one.
    private static func open(_ path: String) throws -> Int32 {
        if let number = descriptorNumber(path) {
            let copy = fcntl(number, F_DUPFD_CLOEXEC, 3)
            guard copy >= 0 else { throw KeySourceError.badDescriptor(number) }
            return copy
        }
        let descriptor = Glibc.open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor < 0 else { return descriptor }
        switch errno {
        case ENOENT, ENOTDIR: throw KeySourceError.noSuchFile(path: path)
        case ELOOP: throw KeySourceError.symbolicLink(path: path)
        case EACCES, EPERM: throw KeySourceError.permissionDenied(path: path)
        case ENXIO: throw KeySourceError.notAFile(path: path)
        default: throw KeySourceError.unreadable(source: "the file \"\(path)\"", code: errno)
        }
    }

    /// The descriptor that a path means, as in a shell's `<(...)`.
    ///
    /// `/dev/fd/63` is a link, and links aren't followed. It means a descriptor that this process
    /// already has open, so that one is used.
    static func descriptorNumber(_ path: String) -> Int32? {
        if path == "/dev/stdin" { return 0 }
        for folder in ["/dev/fd/", "/proc/self/fd/"] where path.hasPrefix(folder) {
            let digits = path.dropFirst(folder.count)
            return digits.allSatisfy { $0.isASCII && $0.isNumber } ? Int32(digits) : nil
        }
        return nil
    }
}
