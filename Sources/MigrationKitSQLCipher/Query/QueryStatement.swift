import CSQLCipher

/// One statement of a person's own SQL, ready to run.
package final class QueryStatement {
    /// The type of a value in a row.
    package enum Kind {
        case null, integer, real, text, blob
    }

    /// A value for a parameter.
    package enum Value: Equatable, Sendable {
        case null
        case integer(Int64)
        case real(Double)
        case text(String)
        case blob([UInt8])
    }

    private let statement: OpaquePointer
    private let session: QuerySession

    /// The names of the columns; none if the statement returns no rows.
    package let columns: [String]

    init(_ statement: OpaquePointer, of session: QuerySession) {
        self.statement = statement
        self.session = session
        columns = (0..<sqlite3_column_count(statement)).map {
            sqlite3_column_name(statement, $0).map { String(cString: $0) } ?? ""
        }
    }

    deinit {
        sqlite3_finalize(statement)
    }

    /// Whether it changes nothing. <https://www.sqlite.org/c3ref/stmt_readonly.html>
    package var isReadOnly: Bool { sqlite3_stmt_readonly(statement) != 0 }

    // MARK: - Parameters

    /// The names of the parameters, without `:`, `@`, `$` or `?`. One without a name has its number.
    package var parameters: [String] {
        (0..<sqlite3_bind_parameter_count(statement)).compactMap { index in
            guard let name = sqlite3_bind_parameter_name(statement, index + 1) else {
                return String(index + 1)
            }
            return String(String(cString: name).dropFirst())
        }
    }

    /// Binds a value to every parameter of a name.
    package func bind(_ value: Value, to name: String) throws {
        for (index, own) in parameters.enumerated() where own == name {
            let code = bind(value, at: Int32(index + 1))
            guard code == SQLITE_OK else { throw session.runFailure(code) }
        }
    }

    private func bind(_ value: Value, at index: Int32) -> Int32 {
        // SQLITE_TRANSIENT, a macro that Swift doesn't import: SQLite copies the bytes.
        let copies = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        switch value {
        case .null: return sqlite3_bind_null(statement, index)
        case .integer(let number): return sqlite3_bind_int64(statement, index, number)
        case .real(let number): return sqlite3_bind_double(statement, index, number)
        case .text(let text):
            let count = UInt64(text.utf8.count)
            return sqlite3_bind_text64(statement, index, text, count, copies, UInt8(SQLITE_UTF8))
        case .blob(let bytes):
            // Without bytes, the pointer would be null, and the value NULL.
            guard !bytes.isEmpty else { return sqlite3_bind_zeroblob(statement, index, 0) }
            return sqlite3_bind_blob64(statement, index, bytes, UInt64(bytes.count), copies)
        }
    }

    // MARK: - Rows

    /// Goes to the next row.
    ///
    /// - Returns: Whether there is one.
    /// - Throws: A ``QueryError``; a `CancellationError`; a `DatabaseError` for anything that is not
    ///   about the SQL.
    package func step() throws -> Bool {
        switch sqlite3_step(statement) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw session.runFailure(code)
        }
    }

    /// The type of the current row's value in a column, counted from 0.
    package func kind(_ column: Int) -> Kind {
        switch sqlite3_column_type(statement, Int32(column)) {
        case SQLITE_INTEGER: .integer
        case SQLITE_FLOAT: .real
        case SQLITE_TEXT: .text
        case SQLITE_BLOB: .blob
        default: .null
        }
    }

    package func integer(_ column: Int) -> Int64 { sqlite3_column_int64(statement, Int32(column)) }

    package func real(_ column: Int) -> Double { sqlite3_column_double(statement, Int32(column)) }

    /// Whether the current row has a text or a blob of more than so many bytes.
    package func hasValue(largerThan count: Int) -> Bool {
        columns.indices.contains { column in
            [.text, .blob].contains(kind(column))
                && Int(sqlite3_column_bytes(statement, Int32(column))) > count
        }
    }

    /// Gives a closure the bytes of a text or a blob, for as long as it runs. A text may contain zero
    /// bytes, and need not be valid UTF-8.
    package func withBytes<Result>(
        _ column: Int,
        _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
    ) throws -> Result {
        let column = Int32(column)
        let start: UnsafePointer<UInt8>? =
            if sqlite3_column_type(statement, column) == SQLITE_TEXT {
                sqlite3_column_text(statement, column)
            } else {
                sqlite3_column_blob(statement, column)?.assumingMemoryBound(to: UInt8.self)
            }
        // After the call that converts it. <https://www.sqlite.org/c3ref/column_blob.html>
        let count = Int(sqlite3_column_bytes(statement, column))
        // An empty blob has no address; neither has one for which there is no memory.
        guard start != nil || count == 0 else { throw session.failure(SQLITE_NOMEM) }
        return try body(UnsafeBufferPointer(start: start, count: start == nil ? 0 : count))
    }
}
