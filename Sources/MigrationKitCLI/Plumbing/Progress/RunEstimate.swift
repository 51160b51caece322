import MigrationKitSQLCipher

/// How far a conversion, a backup, a restore or a salvage is as a whole, and how long it still takes.
///
/// Only the phases that write or read a file once report their progress in bytes. Comparing reads
/// rows but no indexes. Verifying reads pages several times, and at last without reporting
/// progress. Their progress is estimated from the time that the earlier phases took.
struct RunEstimate {
    typealias Phase = ConversionEvent.Phase

    /// The phases that are expected, in order. One that is left out counts as done.
    private let phases: [Phase]
    private var phase: Phase?
    private var done = 0
    private var total = 0
    private var start = 0.0
    /// The phases that are over: how long they took, and their weight.
    private var past = (seconds: 0.0, weight: 0.0)

    init(_ phases: [Phase]) {
        self.phases = phases
    }

    /// How long the phases take, in relation to each other.
    private static func weight(_ phase: Phase) -> Double {
        switch phase {
        case .searchingSalt: 0
        case .reading: 1
        case .copying: 3
        case .comparing, .verifying: 4
        }
    }

    /// Takes a sign of life.
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

    /// How much of the phase is done, from 0 to 1.
    private func part(of phase: Phase, at seconds: Double) -> Double {
        let isToldByBytes = phase == .reading || phase == .copying || past.weight == 0
        let expected = past.weight > 0 ? past.seconds / past.weight * Self.weight(phase) : 0
        guard !isToldByBytes, expected > 0 else {
            return total > 0 ? min(1, Double(done) / Double(total)) : 0
        }
        let ratio = max(0, seconds - start) / expected
        // What takes longer than expected comes ever nearer to its end.
        return ratio < 0.97 ? ratio : 1 - 0.97 * 0.03 / ratio
    }

    /// How much of the whole is done, from 0 to 1, and how many seconds are left, if that is known.
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

    /// `copying 61.7 of 512.0 MB, 12 % of all, 14 s left`; `nil` before the first sign of life.
    func line(at seconds: Double) -> String? {
        switch phase {
        case nil: return nil
        // Its numbers are attempts.
        case .searchingSalt: return "looking for the salt: \(done) of \(total)"
        case .reading?, .copying?, .comparing?, .verifying?: break
        }
        let (fraction, left) = state(at: seconds)
        let isToldByBytes = phase == .reading || phase == .copying
        let bytes = isToldByBytes ? " \(done.megabytes) of \(total.megabytes) MB" : ""
        // It isn't done before its result is reported.
        let parts = [
            "\(phase?.rawValue ?? "")\(bytes)", "\(min(99, Int(fraction * 100))) % of all",
        ]
        return (parts + (left.map { ["\($0) s left"] } ?? [])).joined(separator: ", ")
    }
}
