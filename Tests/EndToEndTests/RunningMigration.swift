import Foundation
import TestSupport
import Testing

/// The tool in the middle of a migration that doesn't end by itself, and stopped there.
struct RunningMigration {
    let process: ChildProcess
    let folder: TemporaryFolder

    var processIdentifier: pid_t { process.processIdentifier }

    /// Starts the tool and stops it (SIGSTOP) in its second migration.
    ///
    /// - Parameters:
    ///   - tool: The store to migrate; gets its migrations here.
    ///   - command: What is started: the tool, with what goes before it.
    ///   - arguments: The options of the key.
    ///   - owner: The user whom the files are given to, if it is another one.
    init(
        of tool: Tool,
        command: [String],
        arguments: [String],
        owner: uid_t? = nil
    ) throws {
        folder = tool.folder
        let words =
            command + [
                "migrate", "--db-path", tool.database, "--migrations", tool.migrations,
            ] + arguments
        func giveAway() throws {
            guard let owner else { return }
            let names = try FileManager.default.subpathsOfDirectory(atPath: tool.folder.path)
            for path in names.map(tool.folder.path) + [tool.folder.path] {
                try #require(chown(path, owner, owner) == 0)
            }
        }

        try tool.write("0001_items", up: "CREATE TABLE item (id INTEGER);")
        try giveAway()
        let first = try TestSupport.run(
            words[0],
            Array(words.dropFirst()),
            environment: tool.environment
        )
        try #require(first.status == 0, "\(first)")
        // The first statement opens the journal, which tells that the second one is about to run.
        try tool.write(
            "0002_endless",
            up: """
                CREATE TABLE endless (id INTEGER);
                INSERT INTO endless
                WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number)
                SELECT n FROM number WHERE n < 0;
                """
        )
        try giveAway()
        process = try ChildProcess(
            words[0],
            Array(words.dropFirst()),
            environment: tool.environment,
            newSession: true
        )
        try wait(for: "a journal") {
            try #require(kill(process.processIdentifier, 0) == 0)
            return access(tool.database + "-journal", F_OK) == 0
        }
        process.send(SIGSTOP)
        // A signal takes its effect when it does: the state says so.
        try wait(for: "the stop inside the migration") { try isStopped }
    }

    /// What `/proc` shows of the process, whole.
    func proc(_ name: String) throws -> Data {
        // Foundation takes the first part for the whole, since the size is said to be none.
        let file = open("/proc/\(processIdentifier)/\(name)", O_RDONLY | O_CLOEXEC)
        try #require(file >= 0, "\(name): \(errno)")
        defer { close(file) }
        var whole = Data()
        var part = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = read(file, &part, part.count)
            guard count > 0 else { return whole }
            whole += part[..<count]
        }
    }

    /// What the process has open, by descriptor.
    func openFiles() throws -> [String] {
        let descriptors = "/proc/\(processIdentifier)/fd"
        return try FileManager.default.contentsOfDirectory(atPath: descriptors).map {
            try FileManager.default.destinationOfSymbolicLink(atPath: "\(descriptors)/\($0)")
        }
    }

    /// The regions of memory in which bytes are found, once for each time.
    func regions(holding bytes: Data) throws -> [MemoryRegion] {
        let memory = open("/proc/\(processIdentifier)/mem", O_RDONLY | O_CLOEXEC)
        try #require(memory >= 0, "/proc/PID/mem: \(errno)")
        defer { close(memory) }
        let map = String(decoding: try proc("smaps"), as: UTF8.self)
        return MemoryRegion.all(in: map).filter(\.isReadable).flatMap { region in
            var content = Data(count: region.size)
            content.withUnsafeMutableBytes { bytes in
                var position = 0
                while position < bytes.count {
                    let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[position...])
                    let offset = off_t(region.start) + off_t(position)
                    // What can't be read, such as a page of a file that ended before, is no page.
                    let count = pread(memory, rest.baseAddress, rest.count, offset)
                    position += count > 0 ? count : 4096
                }
            }
            var found: [MemoryRegion] = []
            var rest = content[...]
            while let range = rest.range(of: bytes) {
                found.append(region)
                rest = rest[range.upperBound...]
            }
            return found
        }
    }

    private var isStopped: Bool {
        get throws {
            String(decoding: try proc("status"), as: UTF8.self).contains("\nState:\tT")
        }
    }
}

/// A mapping of a process, as `/proc/PID/smaps` describes it.
struct MemoryRegion: CustomStringConvertible {
    let start: UInt
    let size: Int
    let permissions: Substring
    let name: String
    /// The kernel's marks, such as `lo` for locked and `dd` for left out of dumps.
    var flags: Set<Substring> = []

    var isReadable: Bool { permissions.hasPrefix("r") && !name.hasPrefix("[v") }
    var isLocked: Bool { flags.contains("lo") }
    var isLeftOutOfDumps: Bool { flags.contains("dd") }

    var description: String {
        "\(name.isEmpty ? "anonymous" : name) \(permissions) \(flags.sorted().joined(separator: " "))"
    }

    static func all(in map: String) -> [MemoryRegion] {
        var regions: [MemoryRegion] = []
        for line in map.split(separator: "\n") {
            let words = line.split(separator: " ", omittingEmptySubsequences: true)
            if words[0] == "VmFlags:", let last = regions.indices.last {
                regions[last].flags = Set(words.dropFirst())
            } else if !words[0].hasSuffix(":"), words.count >= 5 {
                let ends = words[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
                guard ends.count == 2 else { continue }
                regions.append(
                    MemoryRegion(
                        start: ends[0],
                        size: Int(ends[1] - ends[0]),
                        permissions: words[1],
                        name: words.dropFirst(5).joined(separator: " ")
                    )
                )
            }
        }
        return regions
    }
}
