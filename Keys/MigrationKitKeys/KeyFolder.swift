import FoundationEssentials
import Glibc

/// Keys in the files of a folder, each with the name of its store, or with that and `.key`.
///
/// A folder of secrets that a cluster mounts is one, if its files are for this user or its group
/// alone (`defaultMode: 0400`).
public struct KeyFolder: StoreKeys {
    private let path: String
    private let form: DatabaseKey.Form

    /// - Parameters:
    ///   - path: The folder.
    ///   - form: Whether the files have passphrases, or raw keys' hexadecimal digits.
    public init(path: String, form: DatabaseKey.Form) {
        self.path = path
        self.form = form
    }

    /// - Throws: ``KeySourceError``, such as ``KeySourceError/unusableName(_:)`` for a name that leads
    ///   out of the folder.
    public func key(ofStore name: String) throws -> DatabaseKey {
        let source = KeySource.file(path: try file(ofStore: name))
        return try KeyResolver.key(source.secretOfFile(.mounted), named: source, form: form)
    }

    /// The file of a store's key.
    package func file(ofStore name: String) throws -> String {
        let parts = name.split(separator: "/", omittingEmptySubsequences: true)
        guard !parts.isEmpty, !name.utf8.contains(0), !parts.contains("."), !parts.contains("..")
        else { throw KeySourceError.unusableName(name) }
        let file = "\(path)/\(parts.joined(separator: "/"))"
        let found = [file, file + ".key"].first { candidate in
            var status = stat()
            return lstat(candidate, &status) == 0 && status.st_mode & S_IFMT != S_IFDIR
        }
        return found ?? file + ".key"
    }
}

extension KeySource {
    /// The secret in the file that the source names.
    ///
    /// - Throws: ``KeySourceError``.
    func secretOfFile(_ trust: SecretFile.Trust = .ownerOnly) throws -> Secret {
        guard case .file(let path) = self else { preconditionFailure("the source isn't a file") }
        return try SecretFile.read(path, trust: trust, named: self)
    }
}
