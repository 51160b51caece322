import Foundation

/// An applied or begun step that a program doesn't know, as the database's journal describes it.
public struct NewerMigration: Equatable, Sendable {
    /// The step's identifier.
    public let identifier: String

    /// When it was applied; `nil` if that isn't known.
    public let appliedAt: Date?

    /// The version of the program that applied it, as it calls itself; `nil` if it didn't say.
    public let appVersion: String?

    /// Whether versions that don't know it work with the database; `nil` if that isn't known.
    public let older: OlderVersions?

    /// Whether the database has the SQL that takes it back.
    public let canBeTakenBack: Bool

    /// Whether only some of its batches are done.
    public let isBegun: Bool

    /// Describes a step.
    ///
    /// - Parameters:
    ///   - identifier: The step's identifier.
    ///   - appliedAt: When it was applied.
    ///   - appVersion: The version of the program that applied it.
    ///   - older: Whether versions that don't know it work with the database.
    ///   - canBeTakenBack: Whether the database has the SQL that takes it back.
    ///   - isBegun: Whether only some of its batches are done.
    public init(
        identifier: String,
        appliedAt: Date? = nil,
        appVersion: String? = nil,
        older: OlderVersions? = nil,
        canBeTakenBack: Bool = false,
        isBegun: Bool = false
    ) {
        self.identifier = identifier
        self.appliedAt = appliedAt
        self.appVersion = appVersion
        self.older = older
        self.canBeTakenBack = canBeTakenBack
        self.isBegun = isBegun
    }
}

extension NewerMigration: CustomStringConvertible {
    /// What is known about it, in one line.
    public var description: String {
        let date = appliedAt.map { time in
            " on \(time.formatted(.iso8601.year().month().day()))"
        }
        let version = appVersion.map { " by version \($0)" }
        let applied =
            if isBegun {
                " is begun"
            } else {
                date == nil && version == nil ? "" : " was applied\(date ?? "")\(version ?? "")"
            }
        let meaning =
            switch older {
            case .work: "older versions work with it"
            case .fail(let reasons): "older versions may fail: \(reasons.joined(separator: "; "))"
            case nil: "what it means for older versions isn't recorded"
            }
        return "\(identifier)\(applied.isEmpty ? ":" : applied + ";") \(meaning)"
    }
}

extension [NewerMigration] {
    /// The version of the program that a database needs: that of the last step with which older ones
    /// may fail; `nil` if no step says so.
    package var neededVersion: String? {
        last { $0.older != .work }?.appVersion
    }
}
