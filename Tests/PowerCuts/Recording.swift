import Foundation
import TestSupport

/// Why a run could not be recorded.
package enum RecordingError: Error {
    /// strace printed something that is not understood.
    case unreadable(String)
    /// The command did something to the disk that the model doesn't know.
    case unknown(String)
    /// The operations don't lead to the files that the command left.
    case incomplete(String)
    case failed(ProcessResult)
}

/// What one run of a command did to a folder.
package struct Recording: Sendable {
    /// The content of the files by their numbers, before the run.
    package var initialContents: [Int: [UInt8]] = [:]
    package var initialEntries: [String: Int] = [:]
    /// What the key store holds before the run.
    package var initialKeys: [UInt8] = []
    package var operations: [Operation] = []

    /// What another program did before the run, without having it reach the disk.
    enum Pending {
        /// It wrote a write-ahead log.
        case log(String)
        /// It removed a file with this content.
        case removed(String, [UInt8])
    }

    init() {}

    /// The calls that reach files. `read` is missing: it would double the trace, and a file whose
    /// place was moved by it is noticed at the end, since the contents differ.
    private static let calls = [
        "open", "openat", "creat", "close", "dup", "dup2", "dup3", "lseek",
        "write", "pwrite64", "writev", "pwritev", "pwritev2",
        "truncate", "ftruncate", "fallocate", "copy_file_range", "sendfile", "splice", "mmap",
        "fsync", "fdatasync", "sync_file_range", "sync", "syncfs", "msync",
        "rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat",
        "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir", "exit_group",
    ]

    private static let syncCalls = ["fsync", "fdatasync"]

    /// Runs a program under `strace`.
    ///
    /// - Parameters:
    ///   - trace: Where strace writes.
    ///   - onlySyncs: Whether it writes the synchronizations alone, and the functions that asked for
    ///     them. For all calls that would take a minute.
    static func trace(
        _ words: [String],
        to trace: String,
        onlySyncs: Bool = false,
        environment: [String: String]
    ) throws {
        let result = try TestSupport.run(
            "strace",
            [
                "-f", "-xx", "-qq", "-s", "16777216", "-o", trace,
                "-e", "signal=none",
                "-e", "trace=\((onlySyncs ? syncCalls : calls).joined(separator: ","))",
            ] + (onlySyncs ? ["-k"] : []) + words,
            environment: environment,
            newSession: true,
            within: 300
        )
        guard result.status == 0 else { throw RecordingError.failed(result) }
    }

    /// Reads a trace.
    ///
    /// - Parameters:
    ///   - syncTrace: A trace of the synchronizations of a like run; `nil` for none.
    ///   - before: The files before the run.
    ///   - root: The folder that was watched.
    ///   - keys: The file that stands for the key store, and what it held.
    ///   - pending: What was not on the disk yet when the run began.
    init(
        trace: [UInt8],
        syncTrace: [UInt8]?,
        before: [String: [UInt8]],
        root: String,
        keys: (path: String, content: [UInt8]),
        pending: Pending? = nil
    ) throws {
        for (index, file) in before.sorted(by: { $0.key < $1.key }).enumerated() {
            initialEntries[file.key] = index + 1
            initialContents[index + 1] = file.value
        }
        initialKeys = keys.content
        var reader = TraceReader(self, root: root, keysPath: keys.path)
        var calls = try TracedCall.all(in: trace)
        if let syncTrace {
            let stacks = try TracedCall.all(in: syncTrace).map(\.stack)
            let syncs = calls.indices.filter { Self.syncCalls.contains(calls[$0].name) }
            guard stacks.count == syncs.count else {
                throw RecordingError.incomplete("\(stacks.count) of \(syncs.count) syncs")
            }
            for (index, stack) in zip(syncs, stacks) { calls[index].stack = stack }
        }
        switch pending {
        case .log(let name):
            if let log = initialEntries[name], let bytes = initialContents[log] {
                initialContents[log] = []
                reader.writeFrames(of: log, bytes)
            }
        case .removed(let name, let bytes):
            // No file that comes later has the number 0.
            initialEntries[name] = 0
            initialContents[0] = bytes
            reader.unlink(name)
        case nil: break
        }
        for call in calls { try reader.read(call) }
        operations = reader.operations
    }

    /// Throws unless the operations lead to the files that are there.
    func check(after: [String: [UInt8]]) throws {
        var disk = Disk(self)
        for operation in operations { disk.apply(operation) }
        let files = disk.files
        for name in Set(files.keys).union(after.keys).sorted() where files[name] != after[name] {
            throw RecordingError.incomplete(
                "\(name): \(files[name]?.count ?? -1) and \(after[name]?.count ?? -1) bytes"
            )
        }
    }

    /// The place of the first operation after which the command had said that something is done.
    ///
    /// It has when it printed its report, which the tool does once, and at the latest when it ended.
    package var doneIndex: Int {
        operations.firstIndex(where: \.saysDone) ?? operations.count
    }

    /// How many times the command had said that something is done.
    func saidCount(before prefix: Int) -> Int {
        operations[..<prefix].count(where: \.saysDone)
    }
}

/// Makes operations on numbered files out of system calls on paths and descriptors.
private struct TraceReader {
    private(set) var operations: [Operation] = []
    private let root: String
    private let keysPath: String
    private var entries: [String: Int]
    private var sizes: [Int: Int]
    private var next: Int
    private var descriptors: [Int: Target] = [:]
    /// The number of the call that opened a descriptor last.
    private var openings: [Int: Int] = [:]
    /// How many operations there were when so many calls had ended.
    private var counts: [Int] = []

    private enum Target {
        case folder
        /// A hidden folder in the folder.
        case room(String)
        case file(Int, position: Int, appends: Bool)
        case keys
        /// The index of a write-ahead log: it is made anew after a restart, whatever is in it.
        case index
    }

    init(_ recording: Recording, root: String, keysPath: String) {
        self.root = root
        self.keysPath = keysPath
        entries = recording.initialEntries
        sizes = recording.initialContents.mapValues(\.count)
        next = entries.count + 1
    }

    /// The name of what is in the folder; `nil` for what is elsewhere.
    private func name(_ path: String) throws -> String? {
        let path = named(path)
        guard path.hasPrefix(root + "/") else { return nil }
        let name = String(path.dropFirst(root.count + 1))
        if name.contains("/"), entries[name.prefix { $0 != "/" } + "/"] == nil {
            throw RecordingError.unknown("a folder: \(path)")
        }
        return name.hasSuffix("-shm") ? nil : name
    }

    /// A path that leads through the descriptor of a folder, by that folder's name.
    private func named(_ path: String) -> String {
        let parts = path.split(separator: "/", maxSplits: 4)
        guard path.hasPrefix("/proc/self/fd/"), parts.count > 3, let number = Int(parts[3]) else {
            return path
        }
        let rest = parts.count > 4 ? "/" + parts[4] : ""
        return switch descriptors[number] {
        case .folder: root + rest
        case .room(let name): root + "/" + name + rest
        case .file, .keys, .index, nil: path
        }
    }

    private mutating func add(_ kind: Operation.Kind, _ call: TracedCall) {
        var operation = Operation(kind)
        operation.stack = call.stack
        operations.append(operation)
    }

    mutating func read(_ call: TracedCall) throws {
        counts.append(operations.count)
        guard call.result >= 0 || call.name == "mmap" else { return }
        switch call.name {
        case "open", "creat": try open(call, path: call.path(0), flags: call.text(1))
        case "openat": try open(call, path: call.path(1), flags: call.text(2))
        case "close": close(call)
        case "dup", "dup2", "dup3":
            setDescriptor(call.result, to: descriptors[call.number(0) ?? -1])
        case "lseek":
            if case .file(let file, _, let appends) = descriptors[call.number(0) ?? -1] {
                descriptors[call.number(0) ?? -1] = .file(
                    file,
                    position: call.result,
                    appends: appends
                )
            }
        case "write", "writev", "pwrite64", "pwritev", "pwritev2": try write(call)
        case "ftruncate": try setSize(call)
        case "fsync", "fdatasync": sync(call)
        case "rename": try rename(call, from: call.path(0), to: call.path(1))
        case "renameat", "renameat2": try rename(call, from: call.path(1), to: call.path(3))
        case "link": try link(call, from: call.path(0), to: call.path(1))
        case "linkat": try link(call, from: call.path(1), to: call.path(3))
        case "unlink": try unlink(call, path: call.path(0))
        case "mkdir": try makeFolder(call, path: call.path(0))
        case "rmdir": try unlink(call, path: call.path(0) + "/")
        case "unlinkat": try unlink(call, path: call.path(1))
        case "exit_group": add(.exited(call.number(0) ?? -1), call)
        case "mmap": try map(call)
        case "sync", "syncfs", "msync": break
        default: try refuse(call)
        }
    }

    /// Removes a file as another program has done before.
    mutating func unlink(_ name: String) {
        operations.append(Operation(.unlink(name: name)))
    }

    /// Writes a write-ahead log as SQLite has written it before.
    /// <https://www.sqlite.org/fileformat.html#the_write_ahead_log>
    mutating func writeFrames(of log: Int, _ bytes: [UInt8]) {
        guard bytes.count > 32 else { return }
        let pageSize = bytes[8..<12].reduce(0) { $0 << 8 | Int($1) }
        var start = 0
        while start < bytes.count {
            let end = start == 0 ? 32 : min(bytes.count, start + 24 + pageSize)
            let part = Array(bytes[start..<end])
            operations.append(Operation(.write(file: log, offset: start, bytes: part)))
            start = end
        }
    }

    /// Throws if a call that the model doesn't know is for one of the watched files.
    private func refuse(_ call: TracedCall) throws {
        for index in call.arguments.indices {
            let text = call.text(index)
            let isOurs =
                text.hasPrefix("\"")
                ? named(call.path(index)).hasPrefix(root)
                : Int(text).flatMap { descriptors[$0] } != nil
            if isOurs { throw RecordingError.unknown(call.name) }
        }
    }

    private func map(_ call: TracedCall) throws {
        guard call.text(3).contains("MAP_SHARED"), call.text(2).contains("PROT_WRITE"),
            case .file = descriptors[call.number(4) ?? -1]
        else { return }
        throw RecordingError.unknown("writing through mmap")
    }

    private mutating func setDescriptor(_ descriptor: Int, to target: Target?) {
        descriptors[descriptor] = target
        openings[descriptor] = counts.count
    }

    private mutating func close(_ call: TracedCall) {
        let descriptor = call.number(0) ?? -1
        // Another thread may have got the number before the call is said to have ended.
        if let opening = openings[descriptor], opening > call.begin { return }
        descriptors[descriptor] = nil
    }

    private mutating func open(_ call: TracedCall, path: String, flags: String) throws {
        let path = named(path)
        setDescriptor(call.result, to: nil)
        if path == root { descriptors[call.result] = .folder }
        if path == keysPath, !flags.contains("O_RDONLY") { descriptors[call.result] = .keys }
        if path.hasPrefix(root), path.hasSuffix("-shm") { descriptors[call.result] = .index }
        guard let name = try name(path) else { return }
        if entries[name + "/"] != nil {
            descriptors[call.result] = .room(name)
            return
        }
        let file: Int
        if let known = entries[name] {
            file = known
            if flags.contains("O_TRUNC"), sizes[file] != 0 {
                sizes[file] = 0
                add(.setSize(file: file, size: 0), call)
            }
        } else {
            file = next
            next += 1
            entries[name] = file
            sizes[file] = 0
            add(.create(file: file, name: name), call)
        }
        descriptors[call.result] = .file(file, position: 0, appends: flags.contains("O_APPEND"))
    }

    private mutating func write(_ call: TracedCall) throws {
        let descriptor = call.number(0) ?? -1
        let bytes = Array(call.bytes(1).prefix(call.result))
        switch descriptors[descriptor] {
        case .keys: add(.keyStore(bytes), call)
        case .file(let file, let position, let appends):
            var offset = position
            if call.name.hasPrefix("p") {
                offset = call.number(3) ?? 0
            } else {
                if appends { offset = sizes[file] ?? 0 }
                descriptors[descriptor] = .file(
                    file,
                    position: offset + bytes.count,
                    appends: appends
                )
            }
            guard bytes.count == call.result else { throw RecordingError.unknown("a cut string") }
            sizes[file] = max(sizes[file] ?? 0, offset + bytes.count)
            add(.write(file: file, offset: offset, bytes: bytes), call)
        case nil where descriptor == 1: add(.said(bytes), call)
        case nil, .folder, .room, .index: break
        }
    }

    private mutating func setSize(_ call: TracedCall) throws {
        guard case .file(let file, _, _) = descriptors[call.number(0) ?? -1],
            let size = call.number(1), sizes[file] != size
        else { return }
        sizes[file] = size
        add(.setSize(file: file, size: size), call)
    }

    private mutating func sync(_ call: TracedCall) {
        // What ended before the call began is on the disk when it ends.
        let begin = call.begin < counts.count ? counts[call.begin] : operations.count
        switch descriptors[call.number(0) ?? -1] {
        case .file(let file, _, _): add(.syncFile(file: file, begin: begin), call)
        case .folder: add(.syncFolder(begin: begin), call)
        // What is in a hidden folder needn't be there after a power cut.
        case nil, .room, .keys, .index: break
        }
    }

    private mutating func rename(_ call: TracedCall, from: String, to: String) throws {
        guard let from = try name(from), let to = try name(to), let file = entries[from] else {
            if named(from).hasPrefix(root) || named(to).hasPrefix(root) {
                throw RecordingError.unknown("rename \(from) \(to)")
            }
            return
        }
        entries[from] = nil
        entries[to] = file
        add(.rename(file: file, from: from, to: to), call)
    }

    private mutating func link(_ call: TracedCall, from: String, to: String) throws {
        guard let to = try name(to) else { return }
        guard let from = try name(from), let file = entries[from] else {
            throw RecordingError.unknown("link \(from) \(to)")
        }
        entries[to] = file
        add(.link(file: file, name: to), call)
    }

    private mutating func unlink(_ call: TracedCall, path: String) throws {
        guard let name = try name(path) else { return }
        entries[name] = nil
        add(.unlink(name: name), call)
    }

    private mutating func makeFolder(_ call: TracedCall, path: String) throws {
        guard let name = try name(path) else { return }
        entries[name + "/"] = next
        add(.create(file: next, name: name + "/"), call)
        next += 1
    }
}
