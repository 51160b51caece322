import MigrationKitCommon
import Dispatch
import Foundation

extension Array where Element: Sendable {
    /// Works like `map`, but on all cores if there are many elements: a folder may have thousands
    /// of files while a user waits for an app's first screen.
    ///
    /// - Throws: The error of `transform` for the first element that has one.
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
