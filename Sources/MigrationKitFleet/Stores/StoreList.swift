import Foundation
import MigrationKitCommon

/// A list of stores: one path a line, or one JSON object a line.
///
/// ```
/// tenants/alice.db
/// {"path":"tenants/bob.db","account":"bob","group":"canary"}
/// ```
///
/// A store's name is its `account`, or else that of its path. The lines of a report serve as a list,
/// too: each store is taken once, with the name that the report gives it.
public struct StoreList {
    private let source: String
    private let text: Data

    /// - Parameters:
    ///   - path: The file; `-` for standard input.
    /// - Throws: ``FleetError/listUnreadable(path:reason:)``.
    public init(path: String) throws {
        let isInput = path == "-"
        source = isInput ? "standard input" : path
        do {
            text =
                isInput
                ? try FileHandle.standardInput.readToEnd() ?? Data()
                : try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            let reason = ((error as NSError).userInfo[NSUnderlyingErrorKey] as? POSIXError)?.reason
            throw FleetError.listUnreadable(
                path: source,
                reason: reason ?? error.localizedDescription
            )
        }
    }

    /// - Parameters:
    ///   - text: The lines.
    ///   - source: What errors call the list.
    init(text: String, source: String) {
        self.text = Data(text.utf8)
        self.source = source
    }

    /// The stores, in the order of their lines. Empty lines are left out.
    ///
    /// - Parameter names: The names of paths; `nil` for the paths as they are written, without their
    ///   extensions.
    /// - Throws: ``FleetError``.
    public func stores(names: StoreNames? = nil) throws -> [FleetStore] {
        func name(ofPath path: String) throws -> String {
            try names?.name(ofPath: path) ?? FleetStore.name(ofPath: path)
        }
        var stores: [FleetStore] = []
        // A report has several lines for a store.
        var reported: Set<FleetStore> = []
        let decoder = JSONDecoder()
        for (index, bytes) in text.split(separator: 0x0A, omittingEmptySubsequences: false)
            .enumerated()
        {
            let line = bytes.last == 0x0D ? bytes.dropLast() : bytes
            guard !line.isEmpty else { continue }
            func refuse(_ reason: String) -> FleetError {
                .badLine(source: source, number: index + 1, reason: reason)
            }
            guard line.first == UInt8(ascii: "{") else {
                guard let path = String(validating: line, as: UTF8.self), !line.contains(0) else {
                    throw refuse("it is not UTF-8 text")
                }
                stores.append(FleetStore(name: try name(ofPath: path), path: path))
                continue
            }
            if let record = try? decoder.decode(ReportLine.self, from: Data(line)) {
                let store = FleetStore(name: record.store, path: record.path, group: record.group)
                if reported.insert(store).inserted { stores.append(store) }
                continue
            }
            guard let entry = try? decoder.decode([String: String].self, from: Data(line)) else {
                throw refuse("it isn't a JSON object of strings")
            }
            if let other = entry.keys.sorted().first(where: { !Self.fields.contains($0) }) {
                throw refuse("there is no field \"\(other)\"")
            }
            guard let path = entry["path"], !path.isEmpty else {
                throw refuse("it has no \"path\"")
            }
            guard entry["account"] != "" else { throw refuse("its \"account\" is empty") }
            stores.append(
                FleetStore(
                    name: try entry["account"] ?? name(ofPath: path),
                    path: path,
                    group: entry["group"]
                )
            )
        }
        guard !stores.isEmpty else { throw FleetError.noStores(source: source) }
        try stores.checkNames()
        return stores
    }

    private static let fields = ["path", "account", "group"]

    /// What counts here of a line of a report.
    private struct ReportLine: Decodable {
        let schemaVersion: Int
        let store: String
        let path: String
        let group: String?
        let outcome: String
    }
}
