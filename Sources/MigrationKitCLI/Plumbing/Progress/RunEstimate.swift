import Dispatch
import MigrationKit
import MigrationKitCommon
import MigrationKitSQLCipher

/// The overall progress of a conversion, a backup, a restore or a salvage, and the remaining time.
///
/// Only the phases that write or read a file once report their progress in bytes. Comparing may look
/// at a part of the file again. Verifying reads what the pages left open, which may be nothing.
/// The progress of these phases is estimated from the time of the earlier ones.
struct RunEstimate {
    typealias Phase = ConversionEvent.Phase

    /// The expected phases, in order. A phase that is skipped counts as done.
    private let phases: [Phase]
    private var phase: Phase?
    private var done = 0
    private var total = 0
    private var start = 0.0
    /// The time and the weight of the finished phases.
    private var past = (seconds: 0.0, weight: 0.0)

    init(_ phases: [Phase]) {
        self.phases = phases
    }

    /// The relative durations of the phases.
    private static func weight(_ phase: Phase) -> Double {
        switch phase {
        case .searchingSalt: 0
        case .reading: 1
        case .copying: 4
        case .comparing: 2
        case .verifying: 1
        }
    }

    /// Records a progress report.
    ///
    /// - Parameter seconds: The time since the run began to work.
    mutating func note(_ phase: Phase, done: Int, total: Int, at seconds: Double) {
        if phase != self.phase {
            if let former = self.phase, Self.weight(former) > 0 {
                past.seconds += seconds - start
                past.weight += Self.weight(former)
            }
            self.phase = phase
            start = seconds
        }
        self.done = done
        self.total = total
    }

    /// The finished part of the phase, from 0 to 1.
    private func part(of phase: Phase, at seconds: Double) -> Double {
        let isToldByBytes = phase == .reading || phase == .copying || past.weight == 0
        let expected = past.weight > 0 ? past.seconds / past.weight * Self.weight(phase) : 0
        guard !isToldByBytes, expected > 0 else {
            return total > 0 ? min(1, Double(done) / Double(total)) : 0
        }
        let ratio = max(0, seconds - start) / expected
        // If a phase takes longer than expected, its progress approaches the end without reaching
        // it.
        return ratio < 0.97 ? ratio : 1 - 0.97 * 0.03 / ratio
    }

    /// The finished part of the whole, from 0 to 1, and how many seconds are left, if that is
    /// known.
    func state(at seconds: Double) -> (fraction: Double, left: Int?) {
        guard let phase else { return (0, nil) }
        let before = phases.prefix { $0 != phase }.reduce(0) { $0 + Self.weight($1) }
        let whole = phases.reduce(0) { $0 + Self.weight($1) }
        let current = Self.weight(phase) * part(of: phase, at: seconds)
        guard phases.contains(phase), whole > 0 else { return (0, nil) }
        let fraction = (before + current) / whole
        let (elapsed, weight) = (past.seconds + seconds - start, past.weight + current)
        guard elapsed >= 1, weight > 0.02 * whole else { return (fraction, nil) }
        let left = elapsed / weight * (whole - before - current)
        return (fraction, max(1, Int(left.rounded(.up))))
    }

    /// `copying 61.7 of 512.0 MB, 12 % of all, 14 s left`; `nil` before the first progress report.
    func line(at seconds: Double) -> String? {
        switch phase {
        case nil: return nil
        // This phase counts attempts.
        case .searchingSalt: return "looking for the salt: \(done) of \(total)"
        case .reading?, .copying?, .comparing?, .verifying?: break
        }
        let (fraction, left) = state(at: seconds)
        let isToldByBytes = phase == .reading || phase == .copying
        let bytes = isToldByBytes ? " \(done.megabytes) of \(total.megabytes) MB" : ""
        // At most 99 %: the run is done only when its result is reported.
        let parts = [
            "\(phase?.rawValue ?? "")\(bytes)", "\(min(99, Int(fraction * 100))) % of all",
        ]
        return (parts + (left.map { ["\($0) s left"] } ?? [])).joined(separator: ", ")
    }
}
