import MigrationKitCommon
import Foundation

/// Why a ``DatabaseConversion``, a ``DatabaseBackup`` or a ``DatabaseRestore`` fails, if the reason
/// is neither the source's file nor its key (``EncryptedDatabaseError``). The source stays as it
/// was, except after ``notSynced(path:code:)`` and ``oldFileInUse(path:by:)``.
public enum DatabaseConversionError: Error, Equatable, Sendable {
    /// The database to encrypt isn't plaintext.
    case notPlaintext(path: String)

    /// The database already has the requested settings.
    case alreadyCurrent(path: String)

    /// Other processes have had the database open or locked for longer than the timeout. The list
    /// is empty if the system doesn't report them.
    case inUse(path: String, by: [OpenProcess])

    /// The new file is in place. Other processes opened the old one just before, and are still
    /// waiting for its lock after the timeout; if it has another name, after five minutes.
    case oldFileInUse(path: String, by: [OpenProcess])

    /// This process itself has the database open.
    case openHere(path: String)

    /// Another process has been migrating or converting the database for longer than the timeout.
    case busy(path: String, processIdentifier: Int32?)

    /// The lock file can't be created, with this errno.
    case cannotLock(path: String, code: Int32)

    /// The file belongs to another user, who would lose it if this process replaced it.
    case otherOwner(path: String, owner: UInt32)

    /// During the conversion, another program put another file in the database's place. It was left
    /// alone.
    case replacedMeanwhile(path: String)

    /// Another program wrote to the file or its log while it was read without locks.
    case changedMeanwhile(path: String)

    /// The backup and the database are the same file.
    case sameFile(path: String)

    /// The file name is too long: the files beside it need longer names. `limit` is the longest
    /// possible name, in bytes.
    case nameTooLong(path: String, limit: Int)

    /// A file already exists at the output path.
    case exists(path: String)

    /// A file can't be created, written or renamed, with this errno.
    case cannotWrite(path: String, code: Int32)

    /// The folder's file system has less room than the new file needs, both in bytes. Nothing was
    /// written.
    case notEnoughRoom(folder: String, needed: Int, free: Int)

    /// The new file is in place, but its folder can't be synchronized to the disk, with this errno.
    /// After a power cut, the old file may be back.
    case notSynced(path: String, code: Int32)

    /// Copying the rows needs a collation of the app, which isn't registered; its name.
    case unknownCollation(path: String, name: String)

    /// Copying the rows needs an SQL function of the app, which isn't registered; its name.
    case unknownFunction(path: String, name: String)

    /// The copy differs from the source, and was deleted; how it differs.
    case copyDiffers(path: String, difference: String)

    /// The copy is damaged although the source is sound, and was deleted; what was found.
    case copyIsDamaged(path: String, finding: String)
}

extension DatabaseConversionError: LocalizedError {
    /// What went wrong, in one line.
    public var errorDescription: String? {
        switch self {
        case .notPlaintext(let path):
            "\(path) is already encrypted, or not a database"
        case .alreadyCurrent(let path):
            "\(path) already has these settings"
        case .inUse(let path, let processes):
            "\(path) is open in \(processes.listed)"
        case .oldFileInUse(let path, let processes):
            "\(path) was replaced, but the old file is open in \(processes.listed)"
        case .openHere(let path):
            "\(path) is open in this program"
        case .busy(let path, let processIdentifier):
            "\(path) is being migrated or converted by "
                + (processIdentifier.map { "process \($0)" } ?? "another process")
        case .cannotLock(let path, let code):
            "\(path) can't be locked: \(FileLock.Failure.reason(for: code, at: path))"
        case .otherOwner(let path, let owner):
            "\(path) belongs to another user (\(owner))"
        case .replacedMeanwhile(let path):
            "\(path) was replaced by another file in the meantime"
        case .changedMeanwhile(let path):
            "\(path) was written to while it was read"
        case .sameFile(let path):
            "\(path) can't be restored from itself"
        case .exists(let path):
            "\(path) already exists"
        case .nameTooLong(let path, let limit):
            "the file name of \(path) is too long: at most \(limit) bytes"
        case .cannotWrite(let path, let code):
            "\(path) can't be written: \(systemReason(code))"
        case .notEnoughRoom(let folder, let needed, let free):
            "the new file needs \(Self.megabytes(needed)) MB in \(folder), and \(Self.megabytes(free)) MB are free"
        case .notSynced(let path, let code):
            "\(path) has been written, but its folder can't be synchronized: \(systemReason(code))"
        case .unknownCollation(let path, let name):
            "an index in \(path) is sorted by the collation '\(name)', which isn't known here"
        case .unknownFunction(let path, let name):
            "an index or a generated column in \(path) uses the function '\(name)', which isn't known here"
        case .copyDiffers(let path, let difference):
            "the copy of \(path) differs from it: \(difference)"
        case .copyIsDamaged(let path, let finding):
            "the copy of \(path) is damaged: \(finding)"
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .notPlaintext:
            "To give an encrypted database another key, rekey it instead."
        case .alreadyCurrent:
            "There is nothing to do."
        case .inUse:
            "Close the program, and try again. Its later writes would be lost, so nothing was changed."
        case .oldFileInUse:
            """
            The new file is in place. If it has a new key, that key opens it.
            End that program now: what it writes is lost, and may damage the new file.
            """
        case .openHere:
            "Close every connection to it first."
        case .busy:
            "Wait until it is done, and try again."
        case .cannotLock:
            "The lock is a file in the database's folder. Check the owner and the mode of the folder, and the disk."
        case .otherOwner:
            "Run this as that user or as root, or write to another file."
        case .replacedMeanwhile:
            "Another program replaced it, perhaps with another key. The new file was not touched."
        case .changedMeanwhile:
            "Close the program that writes to it, and try again; or make a backup of it, and restore that."
        case .sameFile:
            "Give the path of the backup."
        case .exists:
            "Existing files are not replaced. Choose another path."
        case .nameTooLong:
            "The lock, the journals and the new file beside it have longer names. Choose a shorter one."
        case .cannotWrite:
            "Choose a path in a folder that exists and can be written, on a disk with room."
        case .notEnoughRoom:
            "Nothing was changed. Free some space, or write the new file to another disk, and try again."
        case .notSynced:
            """
            The new file is in place. If it has a new key, that key opens it. After a power cut \
            the old file may be back, or none may exist.
            Keep the old key and the new one, and check the disk.
            """
        case .unknownCollation, .unknownFunction:
            """
            Nothing was changed. It belongs to the app that made the database. Convert the database \
            in that app, with it in the options; or drop what uses it there, and make it again \
            afterwards.
            """
        case .copyDiffers, .copyIsDamaged:
            "The copy was deleted, and nothing was changed. Verify the database and the disk."
        }
    }

    /// In millions of bytes, with one decimal.
    private static func megabytes(_ count: Int) -> String {
        let tenths = (count + 50_000) / 100_000
        return "\(tenths / 10).\(tenths % 10)"
    }
}

extension DatabaseConversionError: CodedError {
    /// The error's code for programs, and its exit status.
    public var code: ErrorCode {
        switch self {
        case .notPlaintext: ErrorCode("notPlaintext", .noPermission)
        case .alreadyCurrent: ErrorCode("alreadyCurrent", .usage)
        case .inUse: ErrorCode("inUse", .busy)
        case .oldFileInUse: ErrorCode("oldFileInUse", .busy)
        case .openHere: ErrorCode("inUse", .busy)
        case .busy: ErrorCode("locked", .busy)
        case .cannotLock(_, let code):
            FileLock.Failure.isFault(code)
                ? ErrorCode("inputOutput", .inputOutput) : ErrorCode("cannotLock", .noPermission)
        case .otherOwner: ErrorCode("otherOwner", .noPermission)
        case .replacedMeanwhile: ErrorCode("replacedMeanwhile", .busy)
        case .changedMeanwhile: ErrorCode("changedMeanwhile", .busy)
        case .sameFile: ErrorCode("sameFile", .usage)
        case .exists: ErrorCode("exists", .cannotCreate)
        case .nameTooLong: ErrorCode("nameTooLong", .cannotCreate)
        case .cannotWrite: ErrorCode("cannotWrite", .cannotCreate)
        case .notEnoughRoom: ErrorCode("diskFull", .inputOutput)
        case .notSynced: ErrorCode("notSynced", .inputOutput)
        case .unknownCollation: ErrorCode("unknownCollation", .failed)
        case .unknownFunction: ErrorCode("unknownFunction", .failed)
        case .copyDiffers: ErrorCode("copyDiffers", .verificationFailed)
        case .copyIsDamaged: ErrorCode("copyIsDamaged", .verificationFailed)
        }
    }
}
