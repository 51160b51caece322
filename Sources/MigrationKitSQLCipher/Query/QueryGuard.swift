import CSQLCipher

/// Decides what a person's own SQL may do, while SQLite compiles it.
/// <https://www.sqlite.org/c3ref/set_authorizer.html>
final class QueryGuard {
    private let access: QuerySession.Access

    /// Why the last statement was refused.
    private(set) var refusal: QueryError.Refusal?

    /// Whether the last statement changes rows, perhaps only those that a virtual table has in other
    /// tables.
    private(set) var changesRows = false

    init(_ access: QuerySession.Access) {
        self.access = access
    }

    func start(on connection: OpaquePointer?) {
        sqlite3_set_authorizer(
            connection,
            { context, code, first, second, _, _ in
                guard let context else { return SQLITE_DENY }
                return Unmanaged<QueryGuard>.fromOpaque(context).takeUnretainedValue()
                    .judge(code, first, second)
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    /// Forgets the last statement.
    func reset() {
        (refusal, changesRows) = (nil, false)
    }

    private func judge(
        _ action: Int32,
        _ first: UnsafePointer<CChar>?,
        _ second: UnsafePointer<CChar>?
    ) -> Int32 {
        func name(_ text: UnsafePointer<CChar>?) -> String {
            text.map { String(cString: $0).lowercased() } ?? ""
        }
        let reason: QueryError.Refusal? =
            switch action {
            case SQLITE_READ, SQLITE_SELECT, SQLITE_RECURSIVE: nil
            case SQLITE_FUNCTION:
                Self.functions.contains(name(second)) ? .function(name(second)) : nil
            case SQLITE_PRAGMA:
                Self.allows(pragma: name(first), hasValue: second != nil)
                    ? nil : .pragma(name(first))
            // A virtual table compiles its own statements, even if it is only read. So whether the
            // person's statement changes rows is asked of that statement.
            case SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE:
                access == .changingRows ? Self.refusal(ofChanging: name(first)) : nil
            case SQLITE_TRANSACTION, SQLITE_SAVEPOINT: .transaction
            case SQLITE_ATTACH, SQLITE_DETACH: .otherFile
            default: .schema
            }
        if [SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE].contains(action) { changesRows = true }
        guard let reason else { return SQLITE_OK }
        refusal = refusal ?? reason
        return SQLITE_DENY
    }

    /// A change of the schema is reported with its own action, too.
    private static func refusal(ofChanging table: String) -> QueryError.Refusal? {
        if table.hasPrefix("grdb_") { return .ledger }
        return table == "sqlite_sequence" || table.hasPrefix("sqlite_stat") ? .ownTable : nil
    }

    /// Functions that load libraries, read or write files, or copy the database.
    private static let functions: Set = [
        "edit", "fts3_tokenizer", "load_extension", "readfile", "sqlcipher_export", "writefile",
    ]

    /// Whether a pragma only tells something.
    private static func allows(pragma name: String, hasValue: Bool) -> Bool {
        withArgument.contains(name) || !hasValue && withoutValue.contains(name)
    }

    /// Their value names what they tell about.
    private static let withArgument: Set = [
        "foreign_key_check", "foreign_key_list", "index_info", "index_list", "index_xinfo",
        "integrity_check", "quick_check", "table_info", "table_list", "table_xinfo",
    ]

    /// A value would change the setting.
    private static let withoutValue: Set = [
        "application_id", "auto_vacuum", "cipher_provider", "cipher_provider_version",
        "cipher_version", "collation_list", "compile_options", "data_version", "database_list",
        "encoding", "foreign_keys", "freelist_count", "function_list", "module_list", "page_count",
        "page_size", "pragma_list", "schema_version", "user_version",
    ]
}
