import MigrationKitSQLCipher

// What an app needs of a store's errors and of the end of a conversion, with one import.

func code(of error: EncryptedDatabaseError) -> (String, Int32) {
    (error.code.name, error.code.exitStatus.rawValue)
}

func endedConversion() -> Cancellation {
    let cancellation = Cancellation()
    cancellation.cancel()
    return cancellation
}
