import MigrationKitKeys

/// An app's own type of a name that is ours, too.
struct Secret {
    let note: String
}

func key(_ secret: Secret, _ database: MigrationKitKeys.Secret) throws -> (String, DatabaseKey) {
    (secret.note, try DatabaseKey.passphrase(database))
}

func secret(_ database: MigrationKitKeys::Secret) -> MigrationKitKeys.Secret {
    database
}
