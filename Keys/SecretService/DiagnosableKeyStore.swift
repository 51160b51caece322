import MigrationKitKeys

/// A key store that can say what may keep a program from its keys.
public protocol DiagnosableKeyStore: KeyStore {
    /// Looks at the session, at what keeps the keys, and at the other key stores of this machine.
    ///
    /// Blocks for at most the store's time limit. Nobody is asked, and nothing is unlocked.
    func diagnosis() -> KeyStoreDiagnosis
}
