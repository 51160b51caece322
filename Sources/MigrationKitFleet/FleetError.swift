import Foundation
import MigrationKitCommon

/// Why there is no list of stores, or no report.
public enum FleetError: Error, Equatable, Sendable {
    /// No file matches the pattern, or the list has no line.
    case noStores(source: String)

    /// A folder or a list can't be read.
    case listUnreadable(path: String, reason: String)

    /// A line of a list isn't a store.
    case badLine(source: String, number: Int, reason: String)

    /// Two stores have the same name.
    case sameName(String, paths: [String])

    /// A store isn't below the folder from which its name is taken.
    case outside(path: String, folder: String)

    /// A report can't be written.
    case cannotWriteReport(path: String, reason: String)

    /// The file is no report, a link, or another user's, so nothing is appended to it.
    case notAReport(path: String, reason: String)

    /// A report can't be read.
    case reportUnreadable(path: String, reason: String)

    /// No line of the files is one of a report.
    case noRecords(paths: [String])
}

extension FleetError: CodedError {
    /// What is wrong, in one line.
    public var errorDescription: String? {
        switch self {
        case .noStores(let source): "\(source) names no store"
        case .listUnreadable(let path, let reason): "\(path) can't be read: \(reason)"
        case .badLine(let source, let number, let reason):
            "line \(number) of \(source) isn't a store: \(reason)"
        case .sameName(let name, let paths):
            "two stores have the name '\(name)': \(paths.joined(separator: " and "))"
        case .outside(let path, let folder):
            "\(path) has no name: it is not below \(folder), the folder of --name-from"
        case .cannotWriteReport(let path, let reason):
            "the report \(path) can't be written: \(reason)"
        case .notAReport(let path, let reason): "\(path) can't be used as a report: \(reason)"
        case .reportUnreadable(let path, let reason): "the report \(path) can't be read: \(reason)"
        case .noRecords(let paths): "no report is in \(paths.joined(separator: ", "))"
        }
    }

    /// What to do about it.
    public var recoverySuggestion: String? {
        switch self {
        case .noStores:
            """
            In a pattern, '*' stands for any part of a name and '**' for any folders. Quote it, so \
            that the shell doesn't expand it. Only regular files count: no folders, pipes or links.
            """
        case .badLine:
            """
            A line is a path, or a JSON object such as {"path":"a.db","account":"a","group":"g"}.
            """
        case .sameName:
            """
            Keys, shards and reports use the stores' names, so they must be unique. Set a \
            different "account" for each store in a list of JSON lines.
            """
        case .outside:
            """
            Name a folder that all stores are in, always the same one. For a store elsewhere, set \
            its "account" in a list of JSON lines.
            """
        case .cannotWriteReport:
            "No more stores were started. Fix the disk or the path, and run again: finished "
                + "stores are only checked."
        case .notAReport:
            "Nothing was started or changed. Give --report a new file, or one that --report has written."
        case .noRecords: "Give the files that --report has written."
        case .listUnreadable, .reportUnreadable: nil
        }
    }

    /// The error's code for programs, and its exit status.
    public var code: ErrorCode {
        switch self {
        case .noStores: ErrorCode("noStores", .noInput)
        case .listUnreadable: ErrorCode("listUnreadable", .noInput)
        case .badLine: ErrorCode("badStoreLine", .dataError)
        case .sameName: ErrorCode("sameStoreName", .dataError)
        case .outside: ErrorCode("storeOutside", .dataError)
        case .notAReport: ErrorCode("notAReport", .cannotCreate)
        case .cannotWriteReport: ErrorCode("cannotWrite", .cannotCreate)
        case .reportUnreadable, .noRecords: ErrorCode("noReport", .noInput)
        }
    }
}
