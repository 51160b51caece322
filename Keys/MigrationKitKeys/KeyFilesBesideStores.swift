/// Keys in files, each beside its store: `alice.db` and `alice.db.key`.
///
/// Only their owner may have access to the files.
public struct KeyFilesBesideStores: StoreKeys {
    private let suffix: String
    private let form: DatabaseKey.Form
    private let path: @Sendable (_ name: String) -> String

    /// - Parameters:
    ///   - suffix: What follows the path of a store in the path of its key, such as `.key`.
    ///   - form: Whether the files have passphrases, or raw keys' hexadecimal digits.
    ///   - path: Returns the path of the store with a name.
    public init(
        suffix: String,
        form: DatabaseKey.Form,
        pathOfStore path: @escaping @Sendable (_ name: String) -> String
    ) {
        self.suffix = suffix
        self.form = form
        self.path = path
    }

    /// - Throws: ``KeySourceError``.
    public func key(ofStore name: String) throws -> DatabaseKey {
        let source = KeySource.file(path: path(name) + suffix)
        return try KeyResolver.key(source.secretOfFile(), named: source, form: form)
    }
}
