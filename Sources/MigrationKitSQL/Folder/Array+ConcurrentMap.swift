import MigrationKitCommon
import Dispatch
import Foundation

extension Array where Element: Sendable {
    /// Does the same as `map`, on all cores where there are many elements: a folder may have
    /// thousands of files, and somebody who waits for their first screen.
    ///
    /// - Throws: What `transform` throws for the first element for which it does.
    func concurrentMap<Value: Sendable>(
        _ transform: @Sendable (Element) throws -> Value
    ) throws -> [Value] {
        let few = 256
        guard count > few else { return try map(transform) }
        let parts = ProcessInfo.processInfo.activeProcessorCount
        let results = Locked<[Int: Result<[Value], any Error>]>([:])
        DispatchQueue.concurrentPerform(iterations: parts) { part in
            let range = count * part / parts..<count * (part + 1) / parts
            let result = Result { try self[range].map(transform) }
            results.withLock { $0[part] = result }
        }
        let all = results.withLock { $0 }
        return try (0..<parts).flatMap { try all[$0]?.get() ?? [] }
    }
}
