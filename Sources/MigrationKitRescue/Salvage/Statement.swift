import CSQLCipher
import GRDB

/// An SQL statement that is run repeatedly with values in our own memory.
final class Statement {
    private let connection: OpaquePointer?
    private let statement: OpaquePointer

    /// - Parameter sql: One statement. Anything after it is an error.
    init(_ db: Database, _ sql: String) throws {
        let connection = db.sqliteConnection
        var statement: OpaquePointer?
        let (code, isAlone) = sql.withCString { text in
            var tail: UnsafePointer<CChar>?
            let code = sqlite3_prepare_v2(connection, text, -1, &statement, &tail)
            let rest = tail.map { String(cString: $0) } ?? ""
            return (code, rest.allSatisfy { $0.isWhitespace || $0 == ";" })
        }
        guard code == SQLITE_OK, let statement else {
            throw Self.failure(code == SQLITE_OK ? SQLITE_ERROR : code, connection)
        }
        guard isAlone else {
            sqlite3_finalize(statement)
            throw DatabaseError(resultCode: .SQLITE_ERROR, message: "several statements in one")
        }
        self.connection = connection
        self.statement = statement
    }

    deinit {
        sqlite3_finalize(statement)
    }

    /// Runs it to its end.
    ///
    /// - Parameters:
    ///   - integers: The first values; `nil` for NULL.
    ///   - row: The row with the other values.
    ///   - columns: The columns of the row to use.
    /// - Returns: Whether it gives a row.
    @discardableResult
    func run(
        _ integers: [Int64?] = [],
        _ row: SalvagedRow? = nil,
        columns: [Int] = [],
        encoding: TextEncoding = .utf8
    ) throws -> Bool {
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        for (index, value) in integers.enumerated() {
            if let value { sqlite3_bind_int64(statement, Int32(index + 1), value) }
        }
        let bound = row.map { row in
            row.payload.withUnsafeBytes { payload in
                for (index, column) in columns.enumerated() {
                    let place = Int32(integers.count + index + 1)
                    let code = bind(row.values[column], payload, place, encoding)
                    guard code == SQLITE_OK else { return code }
                }
                // The bytes are not copied: the payload exists until the run ends.
                return sqlite3_step(statement)
            }
        }
        let code = bound ?? sqlite3_step(statement)
        try check(code)
        return code == SQLITE_ROW
    }

    private func bind(
        _ value: SalvagedRow.Value,
        _ payload: UnsafeRawBufferPointer,
        _ place: Int32,
        _ encoding: TextEncoding
    ) -> Int32 {
        switch value {
        case .null:
            return sqlite3_bind_null(statement, place)
        case .integer(let number):
            return sqlite3_bind_int64(statement, place, number)
        case .real(let number):
            return sqlite3_bind_double(statement, place, number)
        case .text(let range) where encoding != .utf8 && Self.hasMark(payload[range]):
            // SQLite drops a byte order mark at the beginning, so another one is added before it,
            // in the byte order of the text.
            let mark: [UInt8] = encoding == .utf16LittleEndian ? [0xff, 0xfe] : [0xfe, 0xff]
            let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
            return (mark + payload[range]).withUnsafeBufferPointer { bytes in
                bytes.withMemoryRebound(to: CChar.self) {
                    sqlite3_bind_text64(
                        statement,
                        place,
                        $0.baseAddress,
                        UInt64($0.count),
                        copied,
                        UInt8(encoding.rawValue)
                    )
                }
            }
        case .text(let range):
            let start = payload.baseAddress.map { $0 + range.lowerBound }
            return sqlite3_bind_text64(
                statement,
                place,
                start?.assumingMemoryBound(to: CChar.self),
                UInt64(range.count),
                nil,
                UInt8(encoding.rawValue)
            )
        case .blob(let range):
            guard !range.isEmpty else { return sqlite3_bind_zeroblob(statement, place, 0) }
            let start = payload.baseAddress.map { $0 + range.lowerBound }
            return sqlite3_bind_blob64(statement, place, start, UInt64(range.count), nil)
        }
    }

    private static func hasMark(_ text: Slice<UnsafeRawBufferPointer>) -> Bool {
        text.starts(with: [0xfe, 0xff]) || text.starts(with: [0xff, 0xfe])
    }

    private func check(_ code: Int32) throws {
        guard code != SQLITE_DONE, code != SQLITE_ROW else { return }
        throw Self.failure(sqlite3_extended_errcode(connection), connection)
    }

    private static func failure(_ code: Int32, _ connection: OpaquePointer?) -> DatabaseError {
        DatabaseError(
            resultCode: ResultCode(rawValue: code),
            message: String(cString: sqlite3_errmsg(connection))
        )
    }
}

extension DatabaseError {
    /// Whether SQLite refuses the row or the statement. Any other error ends the salvage.
    var isRefusal: Bool {
        switch resultCode {
        case .SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_TOOBIG, .SQLITE_ERROR, .SQLITE_RANGE,
            .SQLITE_AUTH:
            true
        default: false
        }
    }
}
