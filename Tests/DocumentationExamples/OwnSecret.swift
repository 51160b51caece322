import KeyStore

/// An app's own type of a name that is ours, too.
struct Secret {
    let note: String
}

func key(_ secret: Secret, _ database: DatabaseSecret) throws -> (String, DatabaseKey) {
    (secret.note, try DatabaseKey.passphrase(database))
}

func secret(_ database: KeyStore::Secret) -> DatabaseSecret {
    database
}
