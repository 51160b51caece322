import Foundation
import Glibc
import MigrationKitGRDB
import MigrationKitSQLCipher

/// Permissions that expose the database to other users.
struct FileModes {
    private let path: String
    private let allowsGroup: Bool

    /// - Parameter allowsGroup: Whether the files' group may read and write them, too.
    init(_ file: DatabaseFile, allowsGroup: Bool) {
        path = file.resolvedPath
        self.allowsGroup = allowsGroup
    }

    func outcome() throws -> VerificationOutcome {
        var outcome = VerificationOutcome()
        let owner = try FileIdentity.of(path)?.owner
        let refused: mode_t = allowsGroup ? 0o007 : 0o077
        for suffix in [""] + DatabaseFile.journalSuffixes {
            let path = path + suffix
            guard let file = try FileIdentity.of(path) else { continue }
            if file.mode & refused != 0 {
                let verb = file.mode & refused & 0o022 == 0 ? "read" : "written"
                outcome.add(
                    VerificationFinding(
                        "\(path) can be \(verb) by others (mode \(Self.octal(file.mode))): "
                            + "chmod \(allowsGroup ? "o=" : "600") it"
                    )
                )
            }
            if let owner, file.owner != owner {
                outcome.add(
                    VerificationFinding(
                        "\(path) belongs to user \(file.owner), the database to \(owner): "
                            + "chown it"
                    )
                )
            }
        }
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        if let identity = try FileIdentity.of(folder), letsOthersReplace(identity) {
            outcome.add(
                VerificationFinding(
                    "others can put another file in its place, since they can write the folder "
                        + "\(folder) (mode \(Self.octal(identity.mode))): "
                        + "chmod \(allowsGroup ? "o-w" : "go-w") it"
                )
            )
        }
        if outcome.count > 0 { outcome.detail = "other users can access the database" }
        return outcome
    }

    /// Whether users other than the owner can rename files in a folder.
    private func letsOthersReplace(_ folder: FileIdentity) -> Bool {
        // In a folder with the sticky bit, such as /tmp, users can rename only their own files.
        guard folder.mode & UInt32(S_ISVTX) == 0 else { return false }
        guard folder.mode & 0o002 == 0 else { return true }
        guard folder.mode & 0o020 != 0, !allowsGroup else { return false }
        // On many systems, every user has a private group that can write the user's folders.
        let isOwnGroup = getpwuid(folder.owner)?.pointee.pw_gid == folder.group
        return !isOwnGroup
    }

    private static func octal(_ mode: mode_t) -> String {
        let digits = String(mode & 0o7777, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
