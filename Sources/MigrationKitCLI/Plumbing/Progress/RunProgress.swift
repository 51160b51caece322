import MigrationKitCommon
import MigrationKitGRDB

/// Which step of a migration, a rollback or a dry run is running, and which one failed.
struct RunProgress: OperationProgress {
    static let endedState = "Uncommitted changes are undone. The next run continues from there."
    static let endedAtOnceState =
        "Uncommitted changes are undone when the database is opened next."
    static let isUndoneBySQLite = true

    private(set) var committed = 0
    private(set) var failed:
        (identifier: String, isRollback: Bool, ledger: MigrationStepFailure.Ledger)?
    private(set) var line: String?

    private var direction = MigrationEvent.Direction.forward
    private var running = ""
    private var elapsed = 0.0

    mutating func note(_ event: MigrationEvent) {
        switch event {
        case .waiting(let holder):
            line = "waiting for another process\(holder.map { " (\($0))" } ?? "")"
        case .runStarted(let direction, _):
            self.direction = direction
        case .runFinished:
            break
        case .stepStarted(let identifier, let direction, let index, let count):
            let verb = direction == .forward ? "applying" : "rolling back"
            running = "\(verb) \(identifier) (\(index) of \(count))"
            line = running
        case .stepContinues(_, let seconds):
            elapsed = seconds
        case .stepAdvanced(_, let rows):
            var parts = [running, duration(elapsed)]
            if rows > 0 { parts.append(counted(rows, "row")) }
            line = parts.joined(separator: ", ")
        case .stepExpects(_, let seconds):
            line = line.map { "\($0), \(duration(seconds)) left" }
        case .stepPaused:
            break
        case .stepFinished:
            committed += 1
        case .stepFailed(let identifier, let direction):
            failed = (identifier, direction == .back, .unchanged)
        case .stepFailedLate(let identifier, let direction, let isDone):
            failed = (identifier, direction == .back, isDone == true ? .changed : .unreadable)
        case .rolledBack(let identifiers):
            committed -= identifiers.count
            // The verification of the whole belongs to its last step.
            if failed == nil, let last = identifiers.last {
                failed = (last, direction == .back, .unchanged)
            }
        case .verifying:
            line = "verifying"
        }
    }
}
