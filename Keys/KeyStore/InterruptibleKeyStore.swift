/// A key store whose look-ups can be ended while they wait, for a daemon or a person at a prompt.
package protocol InterruptibleKeyStore: KeyStore {
    /// The same key store, whose look-ups end when they are asked to.
    ///
    /// Storing and deleting go to their end, so that nobody is left in doubt about what is stored.
    ///
    /// - Parameter isCancelled: Is asked several times a second while a look-up waits. Once it is
    ///   true, the look-up throws a `CancellationError`.
    func endingLookUps(when isCancelled: @escaping @Sendable () -> Bool) -> any KeyStore
}
