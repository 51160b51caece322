import Foundation
import MigrationKitCommon

/// Another process that has a database open, or holds a lock on it.
public struct OpenProcess: Hashable, Sendable, Encodable {
    /// Its process id.
    public let identifier: Int32

    /// The name of its program, cut by the system to 15 bytes; `nil` if the system doesn't report
    /// it.
    public let name: String?

    /// Creates a value from a process id and the name of its program.
    public init(identifier: Int32, name: String?) {
        self.identifier = identifier
        self.name = name
    }

    init(_ identifier: Int32) {
        let name = FileManager.default.contents(atPath: "/proc/\(identifier)/comm")
            .map { String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .newlines) }
        self.init(identifier: identifier, name: name.flatMap { $0.isEmpty ? nil : $0 })
    }
}

extension OpenProcess: CustomStringConvertible {
    /// `process 4711 (notes)`.
    public var description: String {
        "process \(identifier)" + (name.map { " (\($0.printable))" } ?? "")
    }
}

extension [OpenProcess] {
    /// The other processes that have a file open, as far as the system reports them now.
    package init(using path: String) {
        self = (try? FileIdentity.of(path)?.otherProcesses()) ?? []
    }

    /// The processes as part of a sentence, the first few by name.
    package var listed: String {
        guard !isEmpty else { return "another process" }
        let names = prefix(4).map(\.description)
        return names.joined(separator: ", ") + (count > 4 ? " and \(count - 4) more" : "")
    }
}

extension String {
    /// The text without characters that control a terminal.
    fileprivate var printable: String {
        String(String.UnicodeScalarView(unicodeScalars.map { $0.value < 32 ? "?" : $0 }))
    }
}
