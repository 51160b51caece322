import Foundation

/// How much memory the machine has to spare.
enum AvailableMemory {
    /// The most that a verification takes for pages, in bytes: a quarter of what can be had without
    /// anything being swapped out, and of what the process's group of processes may have.
    static var forPages: Int {
        min(available ?? 256 << 20, groupLimit ?? .max) / 4
    }

    /// <https://www.kernel.org/doc/html/latest/filesystems/proc.html#meminfo>
    private static var available: Int? {
        guard let text = text("/proc/meminfo"),
            let kilobytes = text.firstMatch(of: /MemAvailable:\s+(\d+) kB/).flatMap({ Int($0.1) })
        else { return nil }
        return kilobytes * 1024
    }

    /// Inside a container. <https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files>
    private static var groupLimit: Int? {
        text("/sys/fs/cgroup/memory.max").flatMap {
            Int($0.trimmingCharacters(in: .whitespacesAndNewlines))
        }
    }

    private static func text(_ path: String) -> String? {
        try? String(contentsOfFile: path, encoding: .utf8)
    }
}
