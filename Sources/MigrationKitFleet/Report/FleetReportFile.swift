import Foundation
import MigrationKitCommon

/// The file to which a run appends its report, a JSON object a line.
///
/// Lines are in the file as soon as they are reported, and on the disk half a second later at most.
/// Several runs may append to one file.
public final class FleetReportFile: Sendable {
    private let path: String
    private let descriptor: Int32
    private let lastSync = Locked(ContinuousClock.now)

    /// Opens a file to append to it, or makes it with mode 0600.
    ///
    /// A mistyped path must not append to a database or a key: the file must be new, empty, or begin
    /// with a line of a report. Another user's file would give away the stores' names.
    ///
    /// - Parameter path: The file, not a link.
    /// - Throws: ``FleetError/cannotWriteReport(path:reason:)``.
    public init(path: String) throws {
        self.path = path
        let flags = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW
        descriptor = open(path, flags, 0o600)
        guard descriptor >= 0 else {
            guard errno == ELOOP else { throw failure() }
            throw FleetError.notAReport(path: path, reason: "it is a link")
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure() }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw FleetError.cannotWriteReport(path: path, reason: "it is not a regular file")
        }
        guard status.st_uid == geteuid() else {
            throw FleetError.notAReport(path: path, reason: "it is another user's")
        }
        guard status.st_nlink <= 1 else {
            throw FleetError.notAReport(
                path: path,
                reason: "it has another name, a hard link"
            )
        }
        guard status.st_size == 0 || beginsWithRecord() else {
            throw FleetError.notAReport(path: path, reason: "it is something else")
        }
        // What a killed run or a full disk has left of a line must not swallow the next one.
        var last: UInt8 = 0x0A
        if status.st_size > 0, pread(descriptor, &last, 1, status.st_size - 1) == 1, last != 0x0A {
            try write([0x0A])
        }
    }

    /// Whether the first line is one of a report.
    private func beginsWithRecord() -> Bool {
        var start = [UInt8](repeating: 0, count: 1 << 16)
        let count = pread(descriptor, &start, start.count, 0)
        let line = start.prefix(max(count, 0)).prefix { $0 != 0x0A }
        return (try? JSONDecoder().decode(FleetRecord.self, from: Data(line))) != nil
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Appends lines, with one call of the system.
    ///
    /// - Throws: ``FleetError/cannotWriteReport(path:reason:)``.
    public func append(_ records: [FleetRecord]) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var lines = Data()
        for record in records {
            lines += try encoder.encode(record)
            lines.append(0x0A)
        }
        try write(lines)
        let isDue = lastSync.withLock { last in
            guard .now - last > .milliseconds(500) else { return false }
            last = .now
            return true
        }
        if isDue { try synchronize() }
    }

    /// Has all lines reach the disk.
    ///
    /// - Throws: ``FleetError/cannotWriteReport(path:reason:)``.
    public func synchronize() throws {
        guard fdatasync(descriptor) == 0 else { throw failure() }
    }

    private func write(_ bytes: some ContiguousBytes) throws {
        guard let code = writeAll(bytes, to: descriptor) else { return }
        throw failure(code)
    }

    private func failure(_ code: Int32 = errno) -> FleetError {
        .cannotWriteReport(path: path, reason: systemReason(code))
    }
}
