import MigrationKit
import MigrationKitCommon
import MigrationKitGRDB

/// How the pending steps did on a copy of a database.
public struct RehearsalReport: Sendable {
    /// A step that ran on the copy.
    public struct Step: Equatable, Sendable {
        /// What the step did.
        public let step: MigrationReport.Step

        /// The most room that it needed beside the database.
        public let room: Room
    }

    /// Room on the disk beside the database, in bytes.
    public struct Room: Equatable, Sendable {
        /// The largest size of the rollback journal, or of the write-ahead log with its index.
        public internal(set) var journalByteCount = 0

        /// The largest size of the temporary files of the process. As long as they are in memory, they
        /// count as nothing.
        public internal(set) var temporaryByteCount = 0

        /// The most that was taken at one moment: by both, and by the database's own growth.
        public internal(set) var byteCount = 0
    }

    /// The steps that succeeded, in order. If the run is all or nothing and failed, they were undone
    /// then.
    public let steps: [Step]

    /// The steps that are pending after the run, in order.
    public let pending: [String]

    /// Why the run failed; `nil` if it succeeded.
    public let failure: (any Error)?

    /// The step that failed; `nil` if none did.
    public let failedStep: String?

    /// The checks of the verification; none if the run failed, or nothing was pending.
    public let checks: [VerificationCheck]

    /// How long the copying took, in seconds.
    public let copySeconds: Double

    /// How long the run took, in seconds: the steps, their commits, and its own verification.
    public let migrationSeconds: Double

    /// How long the full verification took afterwards, in seconds.
    public let verificationSeconds: Double

    /// The size of the database before, in bytes: all pages, wherever they are.
    public let byteCountBefore: Int

    /// The size of the database after the run, in bytes; `nil` if it failed.
    public let byteCountAfter: Int?

    /// The most room that the run needed beside the database.
    public let room: Room

    /// The size of the database's pages, in bytes.
    public let pageSize: Int

    /// The database's journal mode: `wal`, or `delete` for a rollback journal.
    public let journalMode: String

    /// Whether every step succeeded, and the verification found nothing.
    public var isSuccessful: Bool { failure == nil && checks.allSatisfy(\.ok) }
}

extension RehearsalReport.Room: Encodable {
    /// Encodes the three sizes.
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "journal": journalByteCount,
            "temporary": temporaryByteCount,
            "bytes": byteCount,
        ])
    }
}

extension RehearsalReport.Step: Encodable {
    /// Encodes the step, and its room beside it.
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode(JSONFields(step, ["room": room]))
    }
}

extension RehearsalReport: Encodable {
    /// Encodes what is known. Of an error, only the step is included.
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode([
            "ok": isSuccessful,
            "steps": steps,
            "pending": pending,
            "failed": failedStep,
            "seconds": [
                "copying": copySeconds.inMicroseconds,
                "migrating": migrationSeconds.inMicroseconds,
                "verifying": verificationSeconds.inMicroseconds,
            ],
            "bytesBefore": byteCountBefore,
            "bytesAfter": byteCountAfter,
            "room": room,
            "pageSize": pageSize,
            "journalMode": journalMode,
            "checks": checks,
        ])
    }
}
