import Foundation
import TestSupport

/// A system call on the watched folder, and how it fails.
///
/// A call is named by its kind, by the file, and by how many there were of this kind on this file:
/// other threads don't shift it.
package struct FailingCall: Sendable, Hashable {
    package enum Failure: Sendable, Hashable {
        case error(Int32)
        /// Half of the bytes are read or written.
        case short
    }

    package var kind: String
    /// The name in the folder; `.` is the folder. Random digits are replaced by `*`.
    package var name: String
    package var ordinal: Int
    package var failure: Failure
    /// Whether all later calls of the kind fail as well.
    package var stays: Bool

    /// How a call of this kind can fail: once, and from there on.
    static func failures(of kind: String, creates: Bool) -> [(failure: Failure, stays: Bool)] {
        var once: [Failure]
        var lasting: [Failure]
        switch kind {
        case "open":
            lasting = [EIO, EACCES, EMFILE].map(Failure.error)
            if creates { lasting += [ENOSPC, EDQUOT].map(Failure.error) }
            once = lasting + [.error(EINTR)]
        case "read": (once, lasting) = ([.error(EIO), .error(EINTR), .short], [.error(EIO)])
        case "write":
            lasting = [.error(EIO), .error(ENOSPC), .error(EDQUOT), .short]
            once = lasting + [.error(EINTR)]
        case "size":
            lasting = [EIO, ENOSPC].map(Failure.error)
            once = lasting + [.error(EINTR)]
        case "sync":
            lasting = [EIO, ENOSPC, EDQUOT].map(Failure.error)
            once = lasting + [.error(EINTR)]
        case "lock": (once, lasting) = ([ENOLCK, EIO, EINTR].map(Failure.error), [.error(ENOLCK)])
        case "unlock": (once, lasting) = ([ENOLCK, EIO].map(Failure.error), [.error(ENOLCK)])
        case "rename", "link", "mkdir":
            once = [EIO, ENOSPC, EDQUOT, EACCES].map(Failure.error)
            lasting = once
        case "map": (once, lasting) = ([.error(ENOMEM)], [.error(ENOMEM)])
        case "close": (once, lasting) = ([.error(EIO)], [])
        default:
            once = [EIO, EACCES].map(Failure.error)
            lasting = once
        }
        return once.map { ($0, false) } + lasting.map { ($0, true) }
    }

    /// What the library reads.
    var environment: [String: String] {
        var variables = ["FAILING_CALL": "\(kind) \(name) \(ordinal)"]
        switch failure {
        case .error(let code): variables["FAILING_ERROR"] = "\(code)"
        case .short: variables["FAILING_ERROR"] = "0"
        }
        if stays { variables["FAILING_STAYS"] = "1" }
        return variables
    }
}

extension FailingCall: CustomStringConvertible {
    private static let names: KeyValuePairs<Int32, String> = [
        EIO: "EIO", ENOSPC: "ENOSPC", EDQUOT: "EDQUOT", EACCES: "EACCES", EMFILE: "EMFILE",
        ENOLCK: "ENOLCK", EINTR: "EINTR", ENOMEM: "ENOMEM",
    ]

    var failureWord: String {
        switch failure {
        case .short: "short"
        case .error(let code): Self.names.first { $0.key == code }?.value ?? "\(code)"
        }
    }

    /// `sync:store.db:3:EIO`, with a `+` where it stays failed.
    package var description: String {
        "\(kind):\(name):\(ordinal):\(failureWord)\(stays ? "+" : "")"
    }

    /// Reads what ``description`` has written.
    package init?(_ description: String) {
        var words = description.split(separator: ":").map(String.init)
        guard words.count == 4, let ordinal = Int(words[2]) else { return nil }
        stays = words[3].hasSuffix("+")
        if stays { words[3].removeLast() }
        switch words[3] {
        case "short": failure = .short
        case let word:
            guard let code = Self.names.first(where: { $0.value == word })?.key else { return nil }
            failure = .error(code)
        }
        (kind, name, self.ordinal) = (words[0], words[1], ordinal)
    }
}

/// A call as the library has noted it.
struct NotedCall {
    enum Result: String {
        case done
        case error
        case failing
    }

    let kind: String
    let name: String
    let result: Result
    /// `creates` or `folder` of an opening, the new name of a link or a renaming.
    let more: String

    static func all(in log: String) -> [NotedCall] {
        log.split(separator: "\n").compactMap { line in
            let words = line.split(separator: "\t", omittingEmptySubsequences: false)
            guard words.count == 4, let result = Result(rawValue: String(words[2])) else {
                return nil
            }
            return NotedCall(
                kind: String(words[0]),
                name: String(words[1]),
                result: result,
                more: String(words[3])
            )
        }
    }

    /// What no synchronization has put on the disk at the end of a run.
    ///
    /// The index of a write-ahead log and locks don't matter after a power cut.
    static func pending(in calls: [NotedCall], before: some Sequence<String>) -> Set<String> {
        var names = Set(before)
        var contents: Set<String> = []
        var entries: Set<String> = []
        func matters(_ name: String) -> Bool { !name.hasSuffix("-shm") && !name.hasSuffix(".lock") }
        for call in calls where call.result == .done && matters(call.name) {
            switch call.kind {
            case "open":
                if call.more == "creates", names.insert(call.name).inserted {
                    entries.insert("new \(call.name)")
                }
            case "mkdir": entries.insert("new \(call.name)")
            case "write", "size": contents.insert(call.name)
            case "sync" where call.name == ".": entries = []
            case "sync": contents.remove(call.name)
            case "rename", "link":
                if call.kind == "rename" { names.remove(call.name) }
                names.insert(call.more)
                if contents.contains(call.name) { contents.insert(call.more) }
                entries.insert("\(call.kind) \(call.name) \(call.more)")
            case "unlink":
                names.remove(call.name)
                contents.remove(call.name)
                // What never reached the disk needn't be removed from it.
                if entries.remove("new \(call.name)") == nil {
                    entries.insert("unlink \(call.name)")
                }
            default: break
            }
        }
        // What a checkpoint writes is in the write-ahead log until that is removed.
        let lost = contents.filter { name in
            let log = name + "-wal"
            return names.contains(name) && (!names.contains(log) || contents.contains(log))
        }
        return Set(lost.map { "content of \($0)" }).union(entries)
    }
}
