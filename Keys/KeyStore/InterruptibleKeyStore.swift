/// A key store whose searches can be cancelled while they wait for a daemon or for the user's
/// answer.
package protocol InterruptibleKeyStore: KeyStore {
    /// The same key store with searches that can be cancelled.
    ///
    /// Storing and deleting always complete, so that it is known what is stored.
    ///
    /// - Parameter isCancelled: Called several times a second while a search waits. Once it returns
    ///   true, the search throws a `CancellationError`.
    func endingLookUps(when isCancelled: @escaping @Sendable () -> Bool) -> any KeyStore
}
