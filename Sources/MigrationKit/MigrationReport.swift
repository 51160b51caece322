import MigrationKitCommon

/// What one run did.
public struct MigrationReport: Equatable, Sendable {
    /// A step that the run applied or rolled back.
    public struct Step: Equatable, Sendable {
        /// The step's identifier.
        public let identifier: String

        /// How long the step's own work took, in seconds, as recorded in the journal. It doesn't
        /// include the commit.
        public let seconds: Double

        /// How many rows the step inserted, changed and deleted.
        public let rowsChanged: Int

        /// What the step means for versions of the program that don't know it; `nil` if it was rolled
        /// back, or that isn't known.
        public let older: OlderVersions?

        /// Creates an entry.
        ///
        /// - Parameters:
        ///   - identifier: The step's identifier.
        ///   - seconds: How long the step took.
        ///   - rowsChanged: How many rows it inserted, changed and deleted.
        ///   - older: What it means for versions that don't know it.
        public init(
            identifier: String,
            seconds: Double,
            rowsChanged: Int = 0,
            older: OlderVersions? = nil
        ) {
            self.identifier = identifier
            self.seconds = seconds
            self.rowsChanged = rowsChanged
            self.older = older
        }
    }

    /// The steps that the run applied or rolled back, in this order.
    public let steps: [Step]

    /// The registered steps that are pending after the run, in the order of the registry.
    public let pending: [String]

    /// Whether the run ended with a verification that found nothing. A run that changed nothing
    /// verifies only on request. One that finds a reference to a missing table from before it leaves
    /// the database unverified.
    public let verified: Bool

    /// The tables that the verification can't check, each with what only the app's connections have:
    /// `message needs the tokenizer words`.
    public let unchecked: [String]

    /// What violates foreign keys as it did before the run, if the run was allowed to leave it; `nil` if
    /// there is nothing.
    public let violations: String?

    /// The applied steps that the program doesn't know, sorted. It works with them, as the program
    /// that applied them has recorded.
    public let newer: [String]

    /// How long the verification took, in seconds. It is no part of the steps' time.
    public let verificationSeconds: Double

    /// Creates a report.
    ///
    /// - Parameters:
    ///   - steps: The steps that the run applied or rolled back.
    ///   - pending: The registered steps that are pending after the run.
    ///   - verified: Whether the run ended with a verification that found nothing.
    ///   - unchecked: The tables that the verification can't check, each with the reason.
    ///   - violations: What violates foreign keys as it did before the run.
    ///   - newer: The applied steps that the program doesn't know.
    ///   - verificationSeconds: How long that took.
    public init(
        steps: [Step],
        pending: [String],
        verified: Bool,
        unchecked: [String] = [],
        violations: String? = nil,
        newer: [String] = [],
        verificationSeconds: Double = 0
    ) {
        self.steps = steps
        self.pending = pending
        self.verified = verified
        self.unchecked = unchecked
        self.violations = violations
        self.newer = newer
        self.verificationSeconds = verificationSeconds
    }
}

extension MigrationReport.Step: Encodable {
    /// Encodes the step.
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "identifier": identifier,
            "seconds": seconds.inMicroseconds,
            "rowsChanged": rowsChanged,
            "older": older,
        ])
    }
}

extension MigrationReport: Encodable {
    /// Encodes what is known of the database after the run. The steps aren't included: only the
    /// caller knows whether they were applied or rolled back.
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "pending": pending,
            "verified": verified,
            "notChecked": unchecked.isEmpty ? nil : unchecked,
            "violations": violations,
            "newer": newer.isEmpty ? nil : newer,
        ])
    }
}
