import MigrationKitSQLCipher

// What an app needs of a store's errors and of the end of a conversion, with one import.

func code(of error: EncryptedDatabaseError) -> (String, Int32) {
    (error.code.name, error.code.exitStatus.rawValue)
}

func advice(after error: any Error) -> String? {
    guard let error = error as? KeyStoreError else { return nil }
    if case .locked = error { return "Unlock the keyring." }
    return error.recoverySuggestion
}

func form(with passphrase: MigrationKitKeys.Secret) throws -> DatabaseForm {
    try .encrypted(.passphrase(passphrase))
}

func endedConversion() -> Cancellation {
    let cancellation = Cancellation()
    cancellation.cancel()
    return cancellation
}
