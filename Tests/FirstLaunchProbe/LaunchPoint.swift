import Foundation

/// A point in a first launch that the probe tells of, and at which it can kill itself.
enum LaunchPoint: String {
    case ready
    case beforeLookUp, afterLookUp
    case beforeStoring, afterStoring
    case beforeReadingBack, afterReadingBack
    case fileIsEmpty, storeIsOpen, done

    /// Tells that the point is reached, and kills the process if it was asked for.
    func pass(_ point: LaunchPoint?) {
        FileHandle.standardOutput.write(Data((rawValue + "\n").utf8))
        if self == point { kill(getpid(), SIGKILL) }
    }
}
