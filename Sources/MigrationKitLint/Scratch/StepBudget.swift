import Foundation

/// How much a step may do before it counts as endless.
struct StepBudget {
    /// How many instructions of SQLite's virtual machine there are between two looks.
    static let instructions: Int32 = 10_000

    /// How many looks there may be: two seconds or so, and on every machine the same.
    var looks = 20_000

    /// How many statements a closure may run.
    var statements = 500_000

    /// Ends what takes long within an instruction: processor time.
    var hardStop = Duration.seconds(30)
}

/// What is left of a budget.
struct StepMeter {
    private var looks: Int
    private var statements: Int
    private let end: UInt64

    init(_ budget: StepBudget) {
        (looks, statements) = (budget.looks, budget.statements)
        end = ThreadTime.now + UInt64(budget.hardStop / .nanoseconds(1))
    }

    /// Counts a look, and says whether nothing is left.
    mutating func isOver() -> Bool {
        looks -= 1
        return looks < 0 || ThreadTime.now > end
    }

    /// Counts a statement, and says whether nothing is left.
    mutating func isOverAfterStatement() -> Bool {
        statements -= 1
        return statements < 0 || ThreadTime.now > end
    }
}

/// The processor time of this thread: a busy machine doesn't make a step look endless.
enum ThreadTime {
    /// In nanoseconds.
    static var now: UInt64 { clock_gettime_nsec() }

    private static func clock_gettime_nsec() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
